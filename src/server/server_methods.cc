// From the name of a method to what answers it.

#include "protocol/decode.h"
#include "protocol/methods.h"
#include "server/environment_choice.h"
#include "server/server.h"

#include <fmt/format.h>

#include <utility>

namespace ew::server {

template <class Params, auto service>
void Server::pass_on(Reply reply, const json::Value* params) {
    Result<Params> decoded = protocol::decode<Params>(params);
    if (!decoded) return reply.fail(decoded.error());
    (this->*service)->handle(std::move(reply), std::move(*decoded));
}

template <auto service>
void Server::list(Reply reply, const json::Value* /*none*/) {
    (this->*service)->list(std::move(reply));
}

Server::Handler Server::handler_of(protocol::Method method) {
    using namespace protocol;
    switch (method) {
    case Method::process_read: return &Server::pass_on<ReadParams, &Server::processes_>;
    case Method::process_write: return &Server::pass_on<WriteParams, &Server::processes_>;
    case Method::process_start: return &Server::pass_on<StartParams, &Server::processes_>;
    case Method::process_signal: return &Server::pass_on<SignalParams, &Server::processes_>;
    case Method::process_terminate: return &Server::pass_on<TerminateParams, &Server::processes_>;
    case Method::process_resize: return &Server::pass_on<ResizeParams, &Server::processes_>;
    case Method::process_close_stdin:
        return &Server::pass_on<CloseStdinParams, &Server::processes_>;
    case Method::process_list: return &Server::list<&Server::processes_>;
    case Method::exec_command: return &Server::run_command;
    case Method::exec_write_stdin: return &Server::pass_on<ExecWriteParams, &Server::exec_>;
    case Method::exec_terminate_all:
        return &Server::pass_on<ExecTerminateAllParams, &Server::exec_>;
    case Method::exec_list: return &Server::pass_on<ExecListParams, &Server::exec_>;
    // A program that exec/command started is a process like any other.
    case Method::exec_terminate: return &Server::pass_on<TerminateParams, &Server::processes_>;
    case Method::exec_signal: return &Server::pass_on<SignalParams, &Server::processes_>;
    case Method::exec_resize: return &Server::pass_on<ResizeParams, &Server::processes_>;
    case Method::patch_check: return &Server::pass_on<PatchCheckParams, &Server::patches_>;
    case Method::patch_apply: return &Server::pass_on<PatchApplyParams, &Server::patches_>;
    case Method::approvals_list: return &Server::list<&Server::gate_>;
    case Method::approvals_revoke: return &Server::pass_on<ApprovalsRevokeParams, &Server::gate_>;
    case Method::approvals_grant: return &Server::pass_on<ApprovalsGrantParams, &Server::gate_>;
    case Method::policy_explain: return &Server::pass_on<PolicyExplainParams, &Server::gate_>;
    case Method::fs_read_file: return &Server::pass_on<ReadFileParams, &Server::files_>;
    case Method::fs_write_file: return &Server::pass_on<WriteFileParams, &Server::files_>;
    case Method::fs_create_directory:
        return &Server::pass_on<CreateDirectoryParams, &Server::files_>;
    case Method::fs_get_metadata: return &Server::pass_on<GetMetadataParams, &Server::files_>;
    case Method::fs_canonicalize: return &Server::pass_on<CanonicalizeParams, &Server::files_>;
    case Method::fs_read_directory: return &Server::pass_on<ReadDirectoryParams, &Server::files_>;
    case Method::fs_walk: return &Server::pass_on<WalkParams, &Server::files_>;
    case Method::fs_remove: return &Server::pass_on<RemoveParams, &Server::files_>;
    case Method::fs_copy: return &Server::pass_on<CopyParams, &Server::files_>;
    case Method::fs_open: return &Server::pass_on<OpenParams, &Server::files_>;
    case Method::fs_read_block: return &Server::pass_on<ReadBlockParams, &Server::files_>;
    case Method::fs_write_block: return &Server::pass_on<WriteBlockParams, &Server::files_>;
    case Method::fs_close: return &Server::pass_on<CloseParams, &Server::files_>;
    case Method::fs_watch_missing: return &Server::pass_on<WatchMissingParams, &Server::files_>;
    case Method::session_configure: return &Server::configure;
    case Method::environment_info: return &Server::tell_environment;
    case Method::environment_status: return &Server::tell_status;
    case Method::environment_list: return &Server::list_environments;
    case Method::initialize: return &Server::initialize;
    case Method::shutdown: return &Server::shut_down;
    case Method::reserved: break;
    }
    return nullptr;
}

// A command that is a patch as a whole is applied as one.
void Server::run_command(Reply reply, const json::Value* params) {
    Result<protocol::ExecCommandParams> decoded =
        protocol::decode<protocol::ExecCommandParams>(params);
    if (!decoded) return reply.fail(decoded.error());
    Result<const config::Environment*> environment =
        chosen_environment(session_.settings(), decoded->environment);
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
        return patches_->handle(std::move(reply), *decoded, std::move(**call),
                                exec_->terms_of(*decoded));
    exec_->handle(std::move(reply), std::move(*decoded));
}

void Server::configure(Reply reply, const json::Value* params) {
    Result<protocol::Settings> changes = protocol::decode<protocol::Settings>(params);
    if (!changes) return reply.fail(changes.error());
    const protocol::Settings settings = session_.configure(*changes);
    const ServerSide side = server_side();
    processes_->set_side(side);
    files_->set_side(side);
    reply.send(settings);
}

void Server::initialize(Reply reply, const json::Value* params) {
    Result<protocol::InitializeParams> decoded =
        protocol::decode<protocol::InitializeParams>(params);
    if (!decoded) return reply.fail(decoded.error());
    Result<protocol::InitializeResult> result = session_.initialize(*decoded);
    if (!result) return reply.fail(result.error());
    reply.send(*result);
}

void Server::shut_down(Reply reply, const json::Value* /*none*/) {
    session_.shut_down();
    reply.send_null();
}

void Server::tell_environment(Reply reply, const json::Value* /*none*/) {
    reply.send(session_.environment());
}

void Server::tell_status(Reply reply, const json::Value* /*none*/) {
    reply.send(protocol::EnvironmentStatus{});
}

void Server::list_environments(Reply reply, const json::Value* /*none*/) {
    protocol::EnvironmentListResult result = remote_->list();
    result.environments.front().shell = session_.environment().shell; // this machine
    reply.send(result);
}

} // namespace ew::server
