#include "transcript/player.h"

#include "core/text/display.h"
#include "json/writer.h"
#include "os/io.h"
#include "transcript/child_server.h"
#include "transcript/restraint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace ew::transcript {

namespace {

constexpr std::size_t shown_characters = 1500; // of a line or message in a difference

// An empty directory for one run. It is removed with everything in it.
class ScratchDirectory {
public:
    static Result<ScratchDirectory> make() {
        const char* const place = std::getenv("TMPDIR");
        std::string path = fmt::format("{}/execward-XXXXXX", place == nullptr ? "/tmp" : place);
        if (::mkdtemp(path.data()) == nullptr) return os::system_error("mkdtemp " + path, errno);
        return ScratchDirectory(std::move(path));
    }

    ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

    ScratchDirectory& operator=(ScratchDirectory&&) = delete;
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    ~ScratchDirectory() {
        std::error_code ignored; // files that cannot be removed stay
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }

    const std::string& path() const { return path_; }

private:
    explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}

    std::string path_;
};

std::string file_uri(std::string_view path) {
    ByteBuffer quoted;
    json::write_file_uri(quoted, path);
    return std::string(quoted.view().substr(1, quoted.size() - 2));
}

struct ServerCommand {
    std::vector<std::string> words;
    std::vector<std::string> environment;
    std::string directory; // where it starts
    bool has_test_ids = false;
    bool is_trusted = false; // the recording is sent as it is written
};

// Our environment, but with fresh directories for settings, rules and approvals.
std::vector<std::string> environment_with_home(const std::string& home) {
    constexpr std::array<std::string_view, 5> replaced = {
        "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "EXECWARD_CONFIG=", "EXECWARD_DATABASE=",
        "EXECWARD_TEST_IDS="};
    std::vector<std::string> variables;
    for (char** at = environ; *at != nullptr; ++at) {
        const std::string_view variable = *at;
        if (std::none_of(replaced.begin(), replaced.end(),
                         [&](std::string_view name) { return variable.starts_with(name); }))
            variables.emplace_back(variable);
    }
    variables.push_back(fmt::format("XDG_CONFIG_HOME={}/config", home));
    variables.push_back(fmt::format("XDG_STATE_HOME={}/state", home));
    return variables;
}

// Writes the settings of the transcript where the server looks for them.
Result<void> write_settings(const std::vector<Step>& steps, const std::string& home) {
    std::string text;
    for (const Step& step : steps)
        if (step.kind == Step::Kind::setting) text.append(step.rest()).append("\n");
    if (text.empty()) return {};
    const std::string directory = home + "/config/execward";
    std::error_code failed;
    std::filesystem::create_directories(directory, failed);
    const std::string path = directory + "/config.toml";
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return os::system_error("open " + path, errno);
    if (!os::write_all(file.get(), text)) return os::system_error("write " + path, errno);
    return {};
}

class Player {
public:
    Player(const std::vector<Step>& steps, Matcher& matcher, Expectations expectations,
           const ServerCommand& command, Millis patience)
        : steps_(steps),
          matcher_(matcher),
          expectations_(std::move(expectations)),
          command_(command),
          patience_(patience) {}

    std::optional<Discord> run() {
        if (std::optional<Discord> found = start_server(0)) return found;
        for (std::size_t i = 0; i < steps_.size(); ++i)
            if (std::optional<Discord> found = play_step(i)) return found;
        is_ending_ = true;
        server_->close_input();
        if (std::optional<Discord> found = wait_for_end()) return found;
        return wait_for_exit(nullptr);
    }

private:
    std::optional<Discord> start_server(int line);
    std::optional<Discord> play_step(std::size_t index);
    std::optional<Discord> wait_for_step(std::size_t index);
    std::optional<Discord> wait_for_end();
    std::optional<Discord> wait_for_exit(const Step* expected);
    std::optional<Discord> expect_nothing(const Step& step, std::size_t index);
    std::optional<Discord> take_lines();
    std::optional<Discord> take_line(std::string_view line);
    void send(const Step& step);

    TimePoint deadline() const { return clock_now() + patience_; }

    const std::vector<Step>& steps_;
    Matcher& matcher_;
    Expectations expectations_;
    const ServerCommand& command_;
    std::optional<ChildServer> server_;
    Millis patience_;
    int servers_ = 0;         // number of servers that were started
    bool is_ending_ = false;  // the server ends all programs and reports that without a request
    std::uint64_t taken_ = 0; // number of lines from the server
};

Discord plain(int line, std::string what) {
    return {line, std::move(what)};
}

std::optional<Discord> Player::start_server(int line) {
    std::vector<std::string> environment = command_.environment;
    ++servers_;
    if (command_.has_test_ids) environment.push_back(fmt::format("EXECWARD_TEST_IDS={}", servers_));
    Result<ChildServer> server =
        ChildServer::start(command_.words, environment, command_.directory);
    if (!server) return plain(line, server.error().message);
    server_.emplace(std::move(*server));
    expectations_.note_restart();
    is_ending_ = false;
    return {};
}

std::optional<Discord> Player::play_step(std::size_t index) {
    const Step& step = steps_[index];
    switch (step.kind) {
    case Step::Kind::send: send(step); return {};
    case Step::Kind::expect: return wait_for_step(index);
    case Step::Kind::nothing: return expect_nothing(step, index);
    case Step::Kind::end_of_input:
        is_ending_ = true;
        server_->close_input();
        return {};
    case Step::Kind::kill:
        is_ending_ = true;
        server_->kill();
        return {};
    case Step::Kind::restart: return start_server(step.line);
    case Step::Kind::options:
    case Step::Kind::setting: return {}; // the server has begun with them
    case Step::Kind::exit_status:
        if (std::optional<Discord> found = wait_for_end()) return found;
        return wait_for_exit(&step);
    }
    return {};
}

void Player::send(const Step& step) {
    if (!step.message) return server_->send_line(step.text);
    const Node expanded = matcher_.expanded(*step.message);
    const Node message = command_.is_trusted ? expanded : restrained(expanded);
    expectations_.note_sent(message);
    is_ending_ = is_ending_ || message.text_of("method") == "exit";
    server_->send_line(step.is_verbatim && command_.is_trusted ? step.text : to_json(message));
}

std::optional<Discord> Player::wait_for_step(std::size_t index) {
    const Step& step = steps_[index];
    std::uint64_t seen = taken_;
    for (TimePoint until = deadline(); true;) {
        if (std::optional<Discord> found = take_lines()) return found;
        if (expectations_.is_met(index)) return {};
        if (server_->has_ended()) {
            const std::optional<int> status = server_->wait_for_exit(deadline());
            return Discord{step.line,
                           fmt::format("the server ended before this, with status {}",
                                       status ? fmt::format("{}", *status) : "unknown"),
                           {},
                           step.text,
                           expectations_.progress_of(index)};
        }
        if (std::exchange(seen, taken_) != taken_) until = deadline();
        if (server_->exchange(until)) continue;
        return Discord{step.line,
                       fmt::format("did not come within {} s", patience_.count() / 1000),
                       {},
                       step.text,
                       expectations_.progress_of(index)};
    }
}

// Waits until the server has closed its output.
std::optional<Discord> Player::wait_for_end() {
    for (TimePoint until = deadline(); !server_->has_ended();) {
        if (std::optional<Discord> found = take_lines()) return found;
        if (server_->exchange(until)) continue;
        return plain(0,
                     fmt::format("the server did not end within {} s", patience_.count() / 1000));
    }
    return take_lines();
}

std::optional<Discord> Player::wait_for_exit(const Step* expected) {
    const std::optional<int> status = server_->wait_for_exit(deadline());
    const int line = expected == nullptr ? 0 : expected->line;
    if (!status)
        return plain(line,
                     fmt::format("the server did not end within {} s", patience_.count() / 1000));
    if (expected == nullptr || *status == expected->number) return {};
    return plain(line, fmt::format("the server ended with status {} instead of {}", *status,
                                   expected->number));
}

std::optional<Discord> Player::expect_nothing(const Step& step, std::size_t index) {
    for (std::size_t later = index; later < steps_.size(); ++later)
        if (expectations_.is_met(later))
            return Discord{step.line, "something had come already", {}, steps_[later].text, {}};
    const std::uint64_t before = taken_;
    const TimePoint until = clock_now() + Millis(step.number);
    while (!server_->has_ended() && clock_now() < until) {
        (void)server_->exchange(until); // the loop checks the deadline
        if (std::optional<Discord> found = take_lines()) return found;
        if (taken_ != before)
            return plain(step.line, "something came, and it is what is expected later");
    }
    return {};
}

std::optional<Discord> Player::take_lines() {
    while (const std::optional<std::string_view> line = server_->next_line()) {
        ++taken_;
        if (std::optional<Discord> found = take_line(*line)) return found;
    }
    return {};
}

std::optional<Discord> Player::take_line(std::string_view line) {
    Result<Node> message = parse_padded_node(line);
    if (!message)
        return Discord{
            0, "this is no message: " + message.error().message, {}, {}, std::string(line)};
    if (is_ending_ && expectations_.is_extra(*message)) return {};
    return expectations_.take(*message);
}

// A terminal may obey what a recording or a server holds.
std::string harmless(const std::string& text) {
    return core::has_invisible(text) ? core::visible(text) : text;
}

std::string shortened(const std::string& text) {
    if (text.size() <= shown_characters) return harmless(text);
    return fmt::format("{} … ({} bytes)", harmless(text.substr(0, shown_characters)), text.size());
}

} // namespace

std::optional<Discord> play(const std::vector<Step>& steps, const Shapes& shapes,
                            const PlaySettings& settings) {
    if (!settings.trusts_recording)
        if (std::optional<Discord> found = find_presumption(steps)) return found;
    Result<ScratchDirectory> directory = ScratchDirectory::make();
    if (!directory) return plain(0, directory.error().message);
    Result<ScratchDirectory> home = ScratchDirectory::make();
    if (!home) return plain(0, home.error().message);
    Result<ScratchDirectory> start = ScratchDirectory::make();
    if (!start) return plain(0, start.error().message);
    if (Result<void> written = write_settings(steps, home->path()); !written)
        return plain(0, written.error().message);
    ServerCommand command = {settings.server, environment_with_home(home->path()), start->path(),
                             settings.has_test_ids, settings.trusts_recording};
    if (!steps.empty() && steps.front().kind == Step::Kind::options)
        for (std::string& word : steps.front().words())
            command.words.push_back(std::move(word));
    Matcher matcher(shapes);
    matcher.bind(std::string(dir_name), Node::of_text(directory->path()));
    matcher.bind(std::string(dir_uri_name), Node::of_text(file_uri(directory->path())));
    Result<Expectations> expectations = Expectations::make(steps, shapes, matcher);
    if (!expectations) return plain(0, expectations.error().message);
    return Player(steps, matcher, std::move(*expectations), command, settings.patience).run();
}

std::string describe(const Discord& discord, std::string_view file) {
    std::string text = harmless(std::string(file));
    if (discord.line > 0) text += fmt::format(":{}", discord.line);
    text += fmt::format(": {}\n", harmless(discord.what));
    const Difference& difference = discord.difference;
    if (!difference.path.empty()) text += fmt::format("  at {}\n", harmless(difference.path));
    if (!difference.expected.empty())
        text += fmt::format("  expected {}\n  got      {}\n", shortened(difference.expected),
                            shortened(difference.got));
    if (!discord.expected.empty())
        text += fmt::format("  the line: {}\n", shortened(discord.expected));
    if (!discord.got.empty()) text += fmt::format("  the server: {}\n", shortened(discord.got));
    return text;
}

} // namespace ew::transcript
