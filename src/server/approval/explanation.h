// A judgement in the form that policy/explain and `execward policy explain` show.
#pragma once

#include "core/judgement/judgement.h"
#include "protocol/policy.h"

namespace ew::server {

protocol::PolicyExplainResult explanation_of(const core::Judgement& judgement);

} // namespace ew::server
