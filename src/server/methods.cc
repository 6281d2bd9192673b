#include "server/methods.h"

#include "core/output/utf8.h"
#include "protocol/decode.h"
#include "protocol/exec.h"
#include "protocol/exec_list.h"
#include "protocol/policy.h"
#include "protocol/process.h"
#include "protocol/process_output.h"
#include "protocol/process_start.h"
#include "protocol/settings.h"
#include "protocol/stored_approvals.h"
#include "server/approval/approval_requests.h"
#include "server/environment/remote_backend.h"
#include "server/exec/exec_service.h"
#include "server/fs/file_service.h"
#include "server/patch/patch_service.h"
#include "server/process/process_requests.h"
#include "server/session/environment_choice.h"
#include "server/session/session.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace ew::server {

Result<protocol::Method> check_request(const Session& session, const protocol::Message& request) {
    const std::optional<protocol::Method> method = protocol::method_named(request.method);
    if (!method)
        return Error{ErrorKind::unknown_method,
                     fmt::format("no method '{}'", core::shortened(request.method)),
                     "execward schema prints what there is"};
    if (*method != protocol::Method::initialize) TRY(session.check_ready());
    return *method;
}

void Methods::handle(protocol::Method method, Reply reply, const protocol::Message& request) const {
    if (const Handler handler = handler_of(method))
        return (this->*handler)(std::move(reply), request.params);
    reply.fail({ErrorKind::unknown_method,
                fmt::format("'{}' is not served by this version", request.method),
                "environment/info and initialize tell what is"});
}

template <class Params, auto service>
void Methods::pass_on(Reply reply, const json::Value* params) const {
    Result<Params> decoded = protocol::decode<Params>(params);
    if (!decoded) return reply.fail(decoded.error());
    (services_.*service)->handle(std::move(reply), std::move(*decoded));
}

template <auto service>
void Methods::list(Reply reply, const json::Value* /*none*/) const {
    (services_.*service)->list(std::move(reply));
}

Methods::Handler Methods::handler_of(protocol::Method method) {
    using namespace protocol;
    switch (method) {
    case Method::process_read: return &Methods::pass_on<ReadParams, &Services::processes>;
    case Method::process_write: return &Methods::pass_on<WriteParams, &Services::processes>;
    case Method::process_start: return &Methods::pass_on<StartParams, &Services::processes>;
    case Method::process_signal: return &Methods::pass_on<SignalParams, &Services::processes>;
    case Method::process_terminate: return &Methods::pass_on<TerminateParams, &Services::processes>;
    case Method::process_resize: return &Methods::pass_on<ResizeParams, &Services::processes>;
    case Method::process_screen: return &Methods::pass_on<ScreenParams, &Services::processes>;
    case Method::process_cast: return &Methods::pass_on<CastParams, &Services::processes>;
    case Method::process_close_stdin:
        return &Methods::pass_on<CloseStdinParams, &Services::processes>;
    case Method::process_list: return &Methods::list<&Services::processes>;
    case Method::exec_command: return &Methods::run_command;
    case Method::exec_write_stdin: return &Methods::pass_on<ExecWriteParams, &Services::exec>;
    case Method::exec_wait: return &Methods::pass_on<ExecWaitParams, &Services::exec>;
    case Method::exec_terminate_all:
        return &Methods::pass_on<ExecTerminateAllParams, &Services::exec>;
    case Method::exec_list: return &Methods::pass_on<ExecListParams, &Services::exec>;
    // A program that exec/command started is also in the process table.
    case Method::exec_terminate: return &Methods::pass_on<TerminateParams, &Services::processes>;
    case Method::exec_signal: return &Methods::pass_on<SignalParams, &Services::processes>;
    case Method::exec_screen: return &Methods::pass_on<ScreenParams, &Services::processes>;
    case Method::exec_resize: return &Methods::pass_on<ResizeParams, &Services::processes>;
    case Method::patch_check: return &Methods::pass_on<PatchCheckParams, &Services::patches>;
    case Method::patch_apply: return &Methods::pass_on<PatchApplyParams, &Services::patches>;
    case Method::approvals_list: return &Methods::list<&Services::approvals>;
    case Method::approvals_revoke:
        return &Methods::pass_on<ApprovalsRevokeParams, &Services::approvals>;
    case Method::approvals_grant:
        return &Methods::pass_on<ApprovalsGrantParams, &Services::approvals>;
    case Method::policy_explain:
        return &Methods::pass_on<PolicyExplainParams, &Services::approvals>;
    case Method::fs_read_file: return &Methods::pass_on<ReadFileParams, &Services::files>;
    case Method::fs_write_file: return &Methods::pass_on<WriteFileParams, &Services::files>;
    case Method::fs_create_directory:
        return &Methods::pass_on<CreateDirectoryParams, &Services::files>;
    case Method::fs_get_metadata: return &Methods::pass_on<GetMetadataParams, &Services::files>;
    case Method::fs_canonicalize: return &Methods::pass_on<CanonicalizeParams, &Services::files>;
    case Method::fs_read_directory: return &Methods::pass_on<ReadDirectoryParams, &Services::files>;
    case Method::fs_walk: return &Methods::pass_on<WalkParams, &Services::files>;
    case Method::fs_remove: return &Methods::pass_on<RemoveParams, &Services::files>;
    case Method::fs_copy: return &Methods::pass_on<CopyParams, &Services::files>;
    case Method::fs_open: return &Methods::pass_on<OpenParams, &Services::files>;
    case Method::fs_read_block: return &Methods::pass_on<ReadBlockParams, &Services::files>;
    case Method::fs_write_block: return &Methods::pass_on<WriteBlockParams, &Services::files>;
    case Method::fs_close: return &Methods::pass_on<CloseParams, &Services::files>;
    case Method::fs_watch_missing: return &Methods::pass_on<WatchMissingParams, &Services::files>;
    case Method::session_configure: return &Methods::configure;
    case Method::environment_info: return &Methods::tell_environment;
    case Method::environment_status: return &Methods::tell_status;
    case Method::environment_list: return &Methods::list_environments;
    case Method::initialize: return &Methods::initialize;
    case Method::shutdown: return &Methods::shut_down;
    case Method::reserved: break;
    }
    return nullptr;
}

// A command that consists of nothing but a patch is applied as a patch.
void Methods::run_command(Reply reply, const json::Value* params) const {
    Result<protocol::ExecCommandParams> decoded =
        protocol::decode<protocol::ExecCommandParams>(params);
    if (!decoded) return reply.fail(decoded.error());
    Result<const config::Environment*> environment =
        chosen_environment(services_.session->settings(), decoded->environment);
    if (!environment) return reply.fail(environment.error());
    Result<std::optional<patch::PatchCall>> call = patch_in(*decoded);
    if (!call) return reply.fail(call.error());
    if (*call && *environment != nullptr)
        return reply.fail({ErrorKind::environment_unavailable,
                           fmt::format("the patch was not applied: patches are applied on this "
                                       "machine only, not in '{}'",
                                       (*environment)->id),
                           "change the files there with commands", "environment"});
    if (*call)
        return services_.patches->handle(std::move(reply), *decoded, std::move(**call),
                                         services_.exec->terms_of(*decoded));
    services_.exec->handle(std::move(reply), std::move(*decoded));
}

void Methods::configure(Reply reply, const json::Value* params) const {
    Result<protocol::Settings> changes = protocol::decode<protocol::Settings>(params);
    if (!changes) return reply.fail(changes.error());
    const protocol::Settings settings = services_.session->configure(*changes);
    const ServerSide side = server_side(*services_.session);
    services_.processes->set_side(side);
    services_.files->set_side(side);
    reply.send(settings);
}

void Methods::initialize(Reply reply, const json::Value* params) const {
    Result<protocol::InitializeParams> decoded =
        protocol::decode<protocol::InitializeParams>(params);
    if (!decoded) return reply.fail(decoded.error());
    Result<protocol::InitializeResult> result = services_.session->initialize(*decoded);
    if (!result) return reply.fail(result.error());
    reply.send(*result);
}

void Methods::shut_down(Reply reply, const json::Value* /*none*/) const {
    services_.session->shut_down();
    reply.send_null();
}

void Methods::tell_environment(Reply reply, const json::Value* /*none*/) const {
    reply.send(services_.session->environment());
}

void Methods::tell_status(Reply reply, const json::Value* /*none*/) const {
    reply.send(protocol::EnvironmentStatus{});
}

void Methods::list_environments(Reply reply, const json::Value* /*none*/) const {
    protocol::EnvironmentListResult result = services_.remote->list();
    result.environments.front().shell = services_.session->environment().shell; // this machine
    reply.send(result);
}

} // namespace ew::server
