#include "files/patch/patch_journal.h"

#include "core/sha256.h"
#include "core/text/paths.h"
#include "files/encoding.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

namespace ew::files {

namespace {

constexpr std::string_view first_line = "execward patch journal 1\n";
constexpr std::size_t digest_size = 64;
constexpr std::string_view digits = "0123456789abcdef";

Step step_at(const std::string& path, const std::string& old_digest,
             const std::string& new_digest) {
    Step step;
    step.kind = new_digest.empty()   ? StepKind::remove
                : old_digest.empty() ? StepKind::make
                                     : StepKind::replace;
    step.directory = core::parent_of(path);
    step.name = path.substr(path.rfind('/') + 1);
    step.old_digest = old_digest;
    step.new_digest = new_digest;
    return step;
}

bool is_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

bool take_step(Taker& taker, Step& step) {
    const auto kind = taker.number<std::uint8_t>();
    if (kind > static_cast<std::uint8_t>(StepKind::remove)) return false;
    step.kind = static_cast<StepKind>(kind);
    step.directory = taker.text();
    step.name = taker.text();
    step.old_digest = taker.text();
    step.new_digest = taker.text();
    return taker.is_good() && step.directory.starts_with('/') && is_name(step.name);
}

} // namespace

std::string new_token() {
    std::array<unsigned char, 16> bytes = {};
    (void)!::getrandom(bytes.data(), bytes.size(), 0); // a name in use is an error later
    std::string token;
    for (const unsigned char byte : bytes) {
        token += digits[byte >> 4];
        token += digits[byte & 15];
    }
    return token;
}

bool is_token(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of(digits) == std::string_view::npos;
}

std::string staged_name(std::string_view token, std::size_t step) {
    return ".execward-" + std::string(token) + "-" + std::to_string(step);
}

std::string old_name(std::string_view token, std::size_t step) {
    return staged_name(token, step) + "-old";
}

Journal journal_of(const PatchReport& report, const std::string& token) {
    Journal journal = {token, report.directories, {}};
    const auto add = [&journal](const std::string& path, const std::string& old_digest,
                                const std::string& new_digest) {
        if (old_digest != new_digest)
            journal.steps.push_back(step_at(path, old_digest, new_digest));
    };
    for (const PatchedFile& file : report.files) {
        if (file.kind != PatchedKind::move) {
            add(file.path, file.old_digest, file.new_digest);
            continue;
        }
        add(file.destination, file.replaced_digest, file.new_digest);
        add(file.path, file.old_digest, {});
    }
    return journal;
}

std::string encode(const Journal& journal) {
    std::string body;
    put(body, journal.token);
    put(body, journal.directories);
    put(body, static_cast<std::uint32_t>(journal.steps.size()));
    for (const Step& step : journal.steps) {
        put(body, static_cast<std::uint8_t>(step.kind));
        for (const std::string* text :
             {&step.directory, &step.name, &step.old_digest, &step.new_digest})
            put(body, *text);
    }
    return std::string(first_line) + core::sha256(body) + "\n" + body;
}

std::optional<Journal> decode_journal(std::string_view text) {
    if (!text.starts_with(first_line) || text.size() > longest_journal) return std::nullopt;
    text.remove_prefix(first_line.size());
    if (text.size() <= digest_size) return std::nullopt;
    const std::string_view body = text.substr(digest_size + 1);
    if (text[digest_size] != '\n' || core::sha256(body) != text.substr(0, digest_size))
        return std::nullopt;
    Taker taker(body);
    Journal journal;
    journal.token = taker.text();
    journal.directories = taker.texts();
    const auto count = taker.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i)
        if (!take_step(taker, journal.steps.emplace_back())) return std::nullopt;
    const bool are_absolute = std::ranges::all_of(
        journal.directories, [](const std::string& path) { return path.starts_with('/'); });
    if (!taker.is_at_end() || !is_token(journal.token) || !are_absolute) return std::nullopt;
    return journal;
}

} // namespace ew::files
