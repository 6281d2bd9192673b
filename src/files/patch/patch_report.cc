#include "files/patch/patch_report.h"

#include "core/sha256.h"
#include "files/encoding.h"

#include <utility>

namespace ew::files {

namespace {

using patch::ChunkMatch;
using patch::MatchLevel;

constexpr std::size_t most_files = 2000; // twice the maximum of a patch

void put_matches(std::string& out, const std::vector<ChunkMatch>& matches) {
    put(out, static_cast<std::uint32_t>(matches.size()));
    for (const ChunkMatch& match : matches) {
        put(out, std::uint64_t{match.line});
        put(out, static_cast<std::uint8_t>(match.level));
    }
}

bool take_matches(Taker& taker, std::vector<ChunkMatch>& matches) {
    const auto count = taker.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && taker.is_good(); ++i) {
        ChunkMatch match;
        match.line = taker.number<std::uint64_t>();
        const auto level = taker.number<std::uint8_t>();
        if (level >= patch::match_levels) return false;
        match.level = static_cast<MatchLevel>(level);
        matches.push_back(match);
    }
    return taker.is_good();
}

// Encodes the members that identify the change.
void put_change(std::string& out, const PatchedFile& file) {
    put(out, static_cast<std::uint8_t>(file.kind));
    for (const std::string* text :
         {&file.path, &file.destination, &file.old_digest, &file.new_digest, &file.replaced_digest})
        put(out, *text);
}

void put_file(std::string& out, const PatchedFile& file) {
    put_change(out, file);
    put(out, file.shown);
    put(out, file.shown_destination);
    put_matches(out, file.matches);
    put(out, file.diff);
    put(out, file.added);
    put(out, file.removed);
    put_flag(out, file.is_writable);
}

bool is_digest(std::string_view text) {
    constexpr std::size_t digits = 64;
    return text.empty() || (text.size() == digits &&
                            text.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

// Returns true if the path is absolute and has no ".." components.
bool is_plain(std::string_view path) {
    if (!path.starts_with('/') || path.ends_with('/')) return false;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view name = path.substr(0, path.find('/'));
        if (name.empty() || name == "." || name == "..") return false;
        path.remove_prefix(name.size());
    }
    return true;
}

// The report comes from a file process that reads untrusted data, so it is checked.
bool is_sound(const PatchedFile& file) {
    const bool moves = file.kind == PatchedKind::move;
    return is_plain(file.path) && (moves ? is_plain(file.destination) : file.destination.empty()) &&
           is_digest(file.old_digest) && is_digest(file.new_digest) &&
           is_digest(file.replaced_digest);
}

bool take_file(Taker& taker, PatchedFile& file) {
    const auto kind = taker.number<std::uint8_t>();
    if (kind > static_cast<std::uint8_t>(PatchedKind::move)) return false;
    file.kind = static_cast<PatchedKind>(kind);
    for (std::string* text : {&file.path, &file.destination, &file.old_digest, &file.new_digest,
                              &file.replaced_digest, &file.shown, &file.shown_destination})
        *text = taker.text();
    if (!take_matches(taker, file.matches)) return false;
    file.diff = taker.text();
    file.added = taker.number<std::uint64_t>();
    file.removed = taker.number<std::uint64_t>();
    const auto is_writable = taker.number<std::uint8_t>();
    file.is_writable = is_writable == 1;
    return taker.is_good() && is_writable <= 1 && is_sound(file);
}

} // namespace

char letter_of(PatchedKind kind) {
    switch (kind) {
    case PatchedKind::add: return 'A';
    case PatchedKind::update: return 'M';
    case PatchedKind::remove: return 'D';
    case PatchedKind::move: return 'R';
    }
    return ' ';
}

bool PatchedFile::operator==(const PatchedFile& other) const {
    std::string one;
    std::string two;
    put_file(one, *this);
    put_file(two, other);
    return one == two;
}

std::string digest_of(const PatchReport& report) {
    std::string text;
    put(text, static_cast<std::uint32_t>(report.files.size()));
    for (const PatchedFile& file : report.files)
        put_change(text, file);
    put(text, report.directories);
    return core::sha256(text);
}

std::string encode(const PatchReport& report) {
    std::string text;
    put(text, static_cast<std::uint32_t>(report.files.size()));
    for (const PatchedFile& file : report.files)
        put_file(text, file);
    put(text, report.directories);
    put(text, report.digest);
    return text;
}

std::optional<PatchReport> decode_report(std::string_view text) {
    if (text.size() > longest_report) return std::nullopt;
    Taker taker(text);
    PatchReport report;
    const auto count = taker.number<std::uint32_t>();
    if (count > most_files) return std::nullopt;
    for (std::uint32_t i = 0; i < count; ++i)
        if (!take_file(taker, report.files.emplace_back())) return std::nullopt;
    report.directories = taker.texts();
    report.digest = taker.text();
    if (!taker.is_at_end()) return std::nullopt;
    return report;
}

} // namespace ew::files
