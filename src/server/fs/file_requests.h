// From the params of fs/* to requests for file processes.
#pragma once

#include "base/error.h"
#include "base/result.h"
#include "files/wire.h"
#include "protocol/files.h"

#include <cstdint>
#include <string_view>

namespace ew::server {

// These move members out of `params`. Errors: limit.
Result<files::Request> request_of(protocol::ReadFileParams& params);
Result<files::Request> request_of(protocol::WriteFileParams& params);
Result<files::Request> request_of(protocol::CreateDirectoryParams& params);
Result<files::Request> request_of(protocol::GetMetadataParams& params);
Result<files::Request> request_of(protocol::CanonicalizeParams& params);
Result<files::Request> request_of(protocol::ReadDirectoryParams& params);
Result<files::Request> request_of(protocol::WalkParams& params);
Result<files::Request> request_of(protocol::RemoveParams& params);
Result<files::Request> request_of(protocol::CopyParams& params);
Result<files::Request> request_of(protocol::OpenParams& params);
Result<files::Request> request_of(const protocol::ReadBlockParams& params);
Result<files::Request> request_of(protocol::WriteBlockParams& params);
Result<files::Request> request_of(protocol::WatchMissingParams& params);

} // namespace ew::server
