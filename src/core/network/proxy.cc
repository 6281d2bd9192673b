#include "core/network/proxy.h"

#include "core/network/lower.h"
#include "json/base64.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace ew::core {

namespace {

constexpr std::string_view http_scheme = "http://";

Error no_proxy(std::string why) {
    return {ErrorKind::invalid_params, std::move(why),
            "a proxy is written http://HOST:PORT or http://USER:PASSWORD@HOST:PORT"};
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || is_digit(c);
}

int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Undoes %XX. Returns nullopt if a % is not followed by two digits.
std::optional<std::string> unescaped(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            result.push_back(text[i]);
            continue;
        }
        if (i + 2 >= text.size()) return std::nullopt;
        const int high = hex_value(text[i + 1]);
        const int low = hex_value(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        result.push_back(static_cast<char>(high << 4 | low));
        i += 2;
    }
    return result;
}

// RFC 7617. The user's name ends at the first ':'.
std::optional<std::string> basic_authorization(std::string_view credentials) {
    constexpr std::size_t longest = 1024; // bytes
    const std::size_t colon = std::min(credentials.find(':'), credentials.size());
    const std::optional<std::string> user = unescaped(credentials.substr(0, colon));
    const std::optional<std::string> password =
        unescaped(credentials.substr(std::min(colon + 1, credentials.size())));
    if (!user || !password || user->find(':') != std::string::npos) return std::nullopt;
    const std::string pair = *user + ':' + *password;
    if (pair.size() > longest) return std::nullopt;
    constexpr std::size_t written_behind = 4; // see encode_base64()
    std::string text(json::base64_size(pair.size()) + written_behind, '\0');
    json::encode_base64(pair, text.data());
    text.resize(json::base64_size(pair.size()));
    return "Basic " + text;
}

// Splits HOST[:PORT]. Returns false if it is neither a name nor an address with a port.
bool take_place(std::string_view text, Proxy& proxy) {
    std::string_view host = text;
    const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
    if (bracket == std::string_view::npos) return false;
    const std::size_t colon = text.find(':', bracket);
    proxy.port = http_port;
    if (colon != std::string_view::npos) {
        host = text.substr(0, colon);
        const std::string_view port = text.substr(colon + 1);
        const auto read = std::from_chars(port.data(), port.data() + port.size(), proxy.port);
        if (read.ec != std::errc() || read.ptr != port.data() + port.size() || proxy.port == 0)
            return false;
    }
    if (bracket != 0) {
        if (host.size() != bracket + 1) return false;
        host = host.substr(1, bracket - 1);
    }
    proxy.address = read_internet(host);
    if (proxy.address) {
        proxy.host = shown(*proxy.address);
        return true;
    }
    const std::optional<std::string> name = host_name(host);
    if (name) proxy.host = *name;
    return name.has_value() && bracket == 0;
}

std::optional<std::string_view> value_of(VariableView environment, std::string_view name) {
    const auto found = std::ranges::find(
        environment, name, [](const auto& entry) { return std::string_view(entry.first); });
    if (found == environment.end()) return std::nullopt;
    return std::string_view(found->second);
}

// An unusable proxy stays one: nothing goes out beside it.
std::optional<Proxy> proxy_from(std::string_view url, std::string_view source) {
    if (url.empty()) return std::nullopt;
    Result<Proxy> read = read_proxy(url);
    Proxy proxy;
    if (read)
        proxy = std::move(*read);
    else
        proxy.trouble = read.error().message;
    proxy.source = source;
    return proxy;
}

// The first of these variables that is there counts, also if it is empty.
std::optional<Proxy> proxy_in(VariableView environment,
                              std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        if (const std::optional<std::string_view> url = value_of(environment, name))
            return proxy_from(*url, name);
    return std::nullopt;
}

// "192.0.2.7", "192.0.2.0/24", "[2001:db8::1]". Bits behind the prefix do not count.
bool is_in_block(std::string_view block, const Internet& address) {
    if (block.starts_with('[') && block.ends_with(']')) block = block.substr(1, block.size() - 2);
    const std::size_t slash = std::min(block.find('/'), block.size());
    const std::optional<Internet> base = read_internet(block.substr(0, slash));
    if (!base || is_ipv4(*base) != is_ipv4(address)) return false;
    if (slash == block.size()) return *base == address;
    const std::string_view digits = block.substr(slash + 1);
    const unsigned all = is_ipv4(*base) ? 32 : 128;
    unsigned bits = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || bits > all)
        return false;
    return Prefix{*base, 128 - all + bits}.has(address);
}

// example.org, .example.org and example.org. mean the name and all names below it.
bool is_name_or_below(std::string_view entry, std::string_view host) {
    if (entry.starts_with('.')) entry.remove_prefix(1);
    if (entry.ends_with('.')) entry.remove_suffix(1);
    if (entry.empty() || host.size() < entry.size()) return false;
    if (in_lower_case(host.substr(host.size() - entry.size())) != in_lower_case(entry))
        return false;
    return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

bool is_exempt(std::string_view exceptions, const Destination& there) {
    constexpr std::string_view separators = " ,\t";
    if (exceptions == "*") return true;
    while (true) {
        exceptions.remove_prefix(
            std::min(exceptions.find_first_not_of(separators), exceptions.size()));
        if (exceptions.empty()) return false;
        const std::size_t end = std::min(exceptions.find_first_of(separators), exceptions.size());
        const std::string_view entry = exceptions.substr(0, end);
        if (there.address ? is_in_block(entry, *there.address)
                          : is_name_or_below(entry, there.host))
            return true;
        exceptions.remove_prefix(end);
    }
}

} // namespace

std::string Proxy::text() const {
    return host.empty() ? fmt::format("the proxy of {}", source)
                        : fmt::format("the proxy {} ({})", shown(host, port), source);
}

std::string Proxy::unusable() const {
    return fmt::format("{} cannot be used, and nothing goes out without it: {}", text(), trouble);
}

Result<Proxy> read_proxy(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme != std::string_view::npos) {
        const std::string name = in_lower_case(url.substr(0, scheme));
        const bool is_plain = std::ranges::all_of(name, is_letter);
        if (name + "://" != http_scheme)
            return no_proxy(is_plain && name.size() <= http_scheme.size()
                                ? fmt::format("proxies of the scheme {} are not supported", name)
                                : std::string("its scheme is not http"));
        url.remove_prefix(scheme + 3);
    }
    if (url.ends_with('/')) url.remove_suffix(1);
    Proxy proxy;
    // The last one: a password may have one, too.
    if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
        const std::optional<std::string> basic = basic_authorization(url.substr(0, at));
        if (!basic) return no_proxy("its user and password cannot be read");
        proxy.authorization = *basic;
        url.remove_prefix(at + 1);
    }
    if (!take_place(url, proxy)) return no_proxy("it is no HOST:PORT");
    return proxy;
}

std::string without_password(std::string_view url) {
    const std::size_t at = url.rfind('@');
    if (at == std::string_view::npos) return std::string(url);
    const std::size_t scheme = url.find("://");
    // Anything else before "://" is a part of the user or the password.
    const bool has_scheme = scheme < at && std::ranges::all_of(url.substr(0, scheme), is_letter);
    const std::size_t begin = has_scheme ? scheme + 3 : 0;
    return fmt::format("{}***{}", url.substr(0, begin), url.substr(at));
}

const Proxy* Proxies::way_to(const Destination& there) const {
    // It would be the loopback of the proxy, which may be on this machine (RFC 6761, 6.3).
    if (is_name_or_below("localhost", there.host)) return nullptr;
    const std::optional<Proxy>& proxy = there.port == http_port ? for_http : for_others;
    return proxy && !is_exempt(exceptions, there) ? &*proxy : nullptr;
}

std::vector<const Proxy*> Proxies::on_port(std::uint16_t port) const {
    std::vector<const Proxy*> found;
    for (const std::optional<Proxy>* const one : {&for_http, &for_others})
        if (*one && (*one)->trouble.empty() && (*one)->port == port) found.push_back(&**one);
    return found;
}

std::vector<std::string> Proxies::troubles() const {
    std::vector<std::string> texts;
    for (const std::optional<Proxy>* const one : {&for_http, &for_others})
        if (*one && !(*one)->trouble.empty()) texts.push_back((*one)->unusable());
    if (texts.size() == 2 && texts[0] == texts[1]) texts.pop_back();
    return texts;
}

Proxies proxies_of(std::string_view setting, VariableView environment) {
    Proxies proxies;
    if (setting == "off") return proxies;
    if (setting.empty()) {
        proxies.for_http =
            proxy_in(environment, {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"});
        proxies.for_others =
            proxy_in(environment, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
    } else {
        proxies.for_http = proxies.for_others = proxy_from(setting, "confinement.network_proxy");
    }
    for (const std::string_view name : {"no_proxy", "NO_PROXY"})
        if (const std::optional<std::string_view> value = value_of(environment, name)) {
            proxies.exceptions = *value;
            break;
        }
    return proxies;
}

bool is_proxy_variable(std::string_view name) {
    return in_lower_case(name).ends_with("_proxy");
}

std::string connect_request(const Proxy& proxy, const Destination& there) {
    const std::string place = there.text();
    std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", place);
    if (!proxy.authorization.empty())
        request += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
    return request + "\r\n";
}

ProxyAnswer read_proxy_answer(std::string_view text) {
    using State = ProxyAnswer::State;
    constexpr std::string_view form = "HTTP/1.d ddd"; // d: a digit
    for (std::size_t i = 0; i < std::min(form.size(), text.size()); ++i)
        if (form[i] == 'd' ? !is_digit(text[i]) : form[i] != text[i]) return {State::broken};
    const std::string_view head = text.substr(0, longest_proxy_answer);
    for (std::size_t end = head.find('\n'); end != std::string_view::npos;
         end = head.find('\n', end + 1)) {
        std::string_view rest = head.substr(end + 1);
        if (rest.starts_with('\r')) rest.remove_prefix(1);
        if (!rest.starts_with('\n')) continue;
        const std::size_t size = head.size() - rest.size() + 1;
        if (size <= form.size()) return {State::broken};
        const char behind = text[form.size()];
        if (behind != ' ' && behind != '\r' && behind != '\n') return {State::broken};
        int status = 0;
        (void)std::from_chars(text.data() + form.size() - 3, text.data() + form.size(), status);
        return {State::whole, status, size};
    }
    return {text.size() >= longest_proxy_answer ? State::broken : State::incomplete};
}

} // namespace ew::core
