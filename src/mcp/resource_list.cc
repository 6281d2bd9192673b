#include "mcp/resource_list.h"

#include "core/screen/screen.h"
#include "core/text/display.h"
#include "mcp/messages.h"
#include "mcp/outcome.h"

#include <fmt/format.h>

namespace ew::mcp {

namespace {

constexpr std::string_view uri_start = "execward://process/";

struct KindTexts {
    std::string_view uri_end;
    std::string_view media_type;
    std::string_view name;
    std::string_view title;
    std::string_view description;
};

KindTexts texts_of(ResourceKind kind) {
    switch (kind) {
    case ResourceKind::output:
        return {"/output", "text/plain", "output", "Output of a process",
                "All output that is kept of the process with this id, the newest 1 MiB."};
    case ResourceKind::screen:
        return {"/screen", "text/plain", "screen", "Screen of a process",
                "What the terminal of the process with this id shows now, row by row."};
    case ResourceKind::cast:
        return {"/cast", "application/x-asciicast", "cast", "Cast of a process",
                "The output that is kept of the terminal of the process with this id, with its "
                "times, to be played: asciicast, version 3."};
    }
    return {};
}

bool has_kind(const protocol::ExecProcessInfo& info, ResourceKind kind) {
    switch (kind) {
    case ResourceKind::output: return true;
    case ResourceKind::screen: return info.tty && core::Screen::is_available();
    case ResourceKind::cast: return info.tty;
    }
    return false;
}

struct Resource {
    std::string uri = {};
    std::string name = {};
    std::string title = {};
    std::string description = {};
    std::string mime_type = {};
};

// The members are those of a resource. Only the first one has another name.
struct Template : Resource {};

template <class Visitor>
void fields_behind_uri(Visitor& visit, Resource& resource) {
    visit.required("name", resource.name);
    visit.required("title", resource.title);
    visit.required("description", resource.description);
    visit.required("mimeType", resource.mime_type);
}

template <class Visitor>
void fields(Visitor& visit, Resource& resource) {
    visit.required("uri", resource.uri);
    fields_behind_uri(visit, resource);
}

template <class Visitor>
void fields(Visitor& visit, Template& form) {
    visit.required("uriTemplate", form.uri);
    fields_behind_uri(visit, form);
}

Resource resource_of(const protocol::ExecProcessInfo& info, ResourceKind kind) {
    const KindTexts texts = texts_of(kind);
    const bool runs = info.state == protocol::ExecProcessState::running;
    const std::string name = kind == ResourceKind::output
                                 ? fmt::format("process {}", info.process_id)
                                 : fmt::format("{} of process {}", texts.name, info.process_id);
    return {uri_of(info.process_id, kind), name, core::visible(shown_command(info)),
            runs ? fmt::format("The {} of a process that runs.", texts.name)
                 : fmt::format("The {} of a process that has ended with exit code {}.", texts.name,
                               info.exit_code.value_or(-1)),
            std::string(texts.media_type)};
}

} // namespace

std::string uri_of(std::string_view process, ResourceKind kind) {
    return fmt::format("{}{}{}", uri_start, process, texts_of(kind).uri_end);
}

std::optional<ResourceName> resource_named(std::string_view uri) {
    if (!uri.starts_with(uri_start)) return std::nullopt;
    uri.remove_prefix(uri_start.size());
    for (const ResourceKind kind : every_kind) {
        const std::string_view end = texts_of(kind).uri_end;
        if (!uri.ends_with(end) || uri.size() == end.size()) continue;
        uri.remove_suffix(end.size());
        if (uri.find('/') != std::string_view::npos) return std::nullopt;
        return ResourceName{std::string(uri), kind};
    }
    return std::nullopt;
}

std::string_view media_type_of(ResourceKind kind) {
    return texts_of(kind).media_type;
}

std::string resource_list(const std::vector<protocol::ExecProcessInfo>& processes) {
    std::vector<Resource> resources;
    for (const protocol::ExecProcessInfo& info : processes)
        for (const ResourceKind kind : every_kind)
            if (has_kind(info, kind)) resources.push_back(resource_of(info, kind));
    return fmt::format(R"("resources":{})", json_of(resources));
}

std::string template_list() {
    protocol::ExecProcessInfo any;
    any.tty = true;
    std::vector<Template> forms;
    for (const ResourceKind kind : every_kind) {
        const KindTexts texts = texts_of(kind);
        if (has_kind(any, kind))
            forms.push_back({{uri_of("{id}", kind), fmt::format("process {}", texts.name),
                              std::string(texts.title), std::string(texts.description),
                              std::string(texts.media_type)}});
    }
    return fmt::format(R"("resourceTemplates":{})", json_of(forms));
}

} // namespace ew::mcp
