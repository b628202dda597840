//! The access table: who may call each operation, with which token, and how often. An operation is an RPC, named
//! by its path, or an HTTP route, named by its method and path.

#[cfg(test)]
mod tests;

use orion_domain::Role;

use crate::scope::{Scope, TokenKind};

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone who can connect.
    Anyone,
    /// An enrolled device, identified by its certificate.
    Device,
    /// A person with at least this role, with a token of this scope.
    Person(Role, RequiredScope),
}

/// The scope that an RPC requires. A session has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredScope {
    /// No particular scope.
    Any,
    /// One of these scopes.
    OneOf(&'static [Scope]),
    /// A session: no API token suffices.
    Session,
}

impl RequiredScope {
    /// Returns whether a token of a person with this role suffices.
    #[must_use]
    pub fn is_met(self, kind: &TokenKind, role: Role) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(scopes) => scopes.iter().any(|scope| kind.holds(*scope, role)),
            Self::Session => *kind == TokenKind::Session,
        }
    }

    /// Returns a scope that suffices, for a command that makes a token.
    pub(super) fn first(self) -> &'static str {
        match self {
            Self::OneOf(scopes) => scopes.first().map_or("read", |scope| scope.as_str()),
            Self::Any | Self::Session => "read",
        }
    }

    /// Describes the scope for messages.
    #[must_use]
    pub fn description(self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::OneOf(scopes) => {
                let words: Vec<_> = scopes.iter().map(|scope| scope.as_str()).collect();
                words.join(" or ")
            }
            Self::Session => "session".to_owned(),
        }
    }
}

/// How many calls a minute one source may make: a device where it showed a certificate, else an address.
/// `None` is no limit.
pub type PerMinute = Option<u32>;

/// Any token.
const ANY: RequiredScope = RequiredScope::Any;
/// RPCs that list and show.
const READ: RequiredScope = RequiredScope::OneOf(&[Scope::Read]);
/// RPCs that clients which call tools need to read as well.
const READ_OR_CALL: RequiredScope = RequiredScope::OneOf(&[Scope::Read, Scope::Call]);
/// RPCs that clients which chat need to read as well.
const READ_OR_CHAT: RequiredScope = RequiredScope::OneOf(&[Scope::Read, Scope::Chat]);
/// RPCs that call tools.
const CALL: RequiredScope = RequiredScope::OneOf(&[Scope::Call]);
/// RPCs that chat.
const CHAT: RequiredScope = RequiredScope::OneOf(&[Scope::Chat]);
/// RPCs that change what others may do, or take something away.
const ADMIN: RequiredScope = RequiredScope::OneOf(&[Scope::Admin]);
/// RPCs that approve, or decide who gets access to what.
const SESSION: RequiredScope = RequiredScope::Session;

const VIEWER: Role = Role::Viewer;
const OPERATOR: Role = Role::Operator;

/// An operation of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The path of the RPC, `/PACKAGE.SERVICE/METHOD`, or the method and path of the route, `GET /PATH`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// How many calls a minute one source may make. None is no limit.
    pub per_minute: PerMinute,
}

impl Operation {
    /// Returns the operation of a path. None if the table has no such row, so that nobody may call it.
    #[must_use]
    pub fn find(path: &str) -> Option<&'static Self> {
        TABLE.iter().find(|operation| operation.path == path)
    }
}

const fn rpc(path: &'static str, access: Access, per_minute: PerMinute) -> Operation {
    Operation { path, access, per_minute }
}

/// Further RPCs that are cancelled with their client. A login or a health check changes nothing that another
/// part of the backend must know. A flood of them ends when its clients disconnect. A device's stream spawns
/// a task of its own.
const MAY_END: &[&str] = &[
    "/orion.v1.AgentService/Link",
    "/orion.v1.ContentService/MoveContent",
    "/orion.v1.AuthService/Login",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "GET /healthz",
    "POST /v1/chat/completions",
    "POST /v1/responses",
    "POST /mcp",
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
    "GET /",
    "GET /install.ps1",
    "GET /install.sh",
    "GET /download",
    "POST /page/sign-in",
    "POST /page/link-person",
];

/// Returns whether an RPC's work is dropped when its client disconnects: RPCs that only read, and a few
/// others. All other work runs to completion.
#[must_use]
pub(super) fn ends_with_its_client(operation: &Operation) -> bool {
    let only_reads = match operation.access {
        Access::Person(_, RequiredScope::OneOf(scopes)) => scopes.contains(&Scope::Read),
        Access::Person(_, RequiredScope::Any | RequiredScope::Session)
        | Access::Anyone
        | Access::Device => false,
    };
    only_reads || MAY_END.contains(&operation.path)
}

/// Every operation: who may call it, and how often from one source.
pub const TABLE: &[Operation] = &[
    rpc("/orion.v1.AgentService/Link", Access::Device, Some(120)),
    rpc("/orion.v1.AgentService/RenewCertificate", Access::Device, Some(30)),
    rpc("/orion.v1.ContentService/MoveContent", Access::Device, Some(600)),
    rpc("/orion.v1.EnrollmentService/Enroll", Access::Anyone, Some(120)),
    rpc("/orion.v1.EnrollmentService/GetEnrollment", Access::Anyone, Some(600)),
    rpc("/orion.v1.EnrollmentService/RequestEnrollment", Access::Anyone, Some(30)),
    rpc("/orion.v1.EnrollmentService/AwaitConfirmation", Access::Anyone, Some(600)),
    rpc("/orion.v1.AuthService/CreateFirstAdmin", Access::Anyone, Some(30)),
    rpc("/orion.v1.AuthService/Login", Access::Anyone, Some(30)),
    rpc("/orion.v1.AuthService/CreateSignInLink", Access::Person(VIEWER, SESSION), Some(60)),
    rpc("/orion.v1.AuthService/WhoAmI", Access::Person(VIEWER, ANY), None),
    rpc("/orion.v1.AuthService/Logout", Access::Person(VIEWER, SESSION), None),
    rpc("/orion.v1.AuthService/ListUsers", Access::Person(Role::Admin, READ), None),
    rpc("/orion.v1.AuthService/CreateUser", Access::Person(Role::Admin, ADMIN), Some(60)),
    rpc("/orion.v1.AuthService/SetUserRole", Access::Person(Role::Admin, SESSION), None),
    rpc("/orion.v1.AuthService/DisableUser", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.AuthService/EnableUser", Access::Person(Role::Admin, SESSION), None),
    rpc("/orion.v1.AuthService/DeleteUser", Access::Person(Role::Admin, SESSION), None),
    rpc("/orion.v1.AuthService/SetPassword", Access::Person(VIEWER, SESSION), Some(60)),
    rpc("/orion.v1.AuthService/ListTokens", Access::Person(VIEWER, READ), None),
    rpc("/orion.v1.AuthService/CreateToken", Access::Person(VIEWER, SESSION), Some(120)),
    rpc("/orion.v1.AuthService/RevokeToken", Access::Person(VIEWER, ADMIN), None),
    rpc("/orion.v1.ToolService/ListTools", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ToolService/CallTool", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.ToolService/GetCall", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ToolService/RevealCall", Access::Person(VIEWER, SESSION), Some(120)),
    rpc("/orion.v1.ToolService/WatchCall", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ToolService/ListCalls", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ToolService/CancelCall", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.ToolService/StopCalls", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.ToolService/ResumeCalls", Access::Person(VIEWER, SESSION), None),
    rpc("/orion.v1.ToolService/ListStops", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ToolService/ListAliases", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ToolService/SetAlias", Access::Person(VIEWER, SESSION), Some(120)),
    rpc("/orion.v1.ToolService/RemoveAlias", Access::Person(VIEWER, SESSION), Some(120)),
    rpc("/orion.v1.TransferService/UploadPart", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.TransferService/DownloadPart", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.ToolService/ListCustomTools", Access::Person(Role::Admin, READ), None),
    rpc("/orion.v1.ToolService/DecideCustomTool", Access::Person(Role::Admin, SESSION), None),
    rpc("/orion.v1.ChatService/SendMessage", Access::Person(VIEWER, CHAT), None),
    rpc("/orion.v1.ChatService/ListModels", Access::Person(VIEWER, READ_OR_CHAT), None),
    rpc("/orion.v1.ChatService/ListChats", Access::Person(VIEWER, READ_OR_CHAT), None),
    rpc("/orion.v1.ChatService/GetChat", Access::Person(VIEWER, READ_OR_CHAT), None),
    rpc("/orion.v1.ChatService/GetTurn", Access::Person(VIEWER, READ_OR_CHAT), None),
    rpc("/orion.v1.MemoryService/ListMemories", Access::Person(VIEWER, READ), Some(120)),
    rpc("/orion.v1.MemoryService/ForgetMemory", Access::Person(VIEWER, SESSION), Some(120)),
    rpc("/orion.v1.PasskeyService/ListPasskeys", Access::Person(VIEWER, READ), Some(120)),
    rpc(
        "/orion.v1.PasskeyService/StartPasskeyRegistration",
        Access::Person(VIEWER, SESSION),
        Some(60),
    ),
    rpc(
        "/orion.v1.PasskeyService/FinishPasskeyRegistration",
        Access::Person(VIEWER, SESSION),
        Some(60),
    ),
    rpc("/orion.v1.PasskeyService/RemovePasskey", Access::Person(VIEWER, SESSION), Some(60)),
    rpc(
        "/orion.v1.PasskeyService/StartPasskeyApproval",
        Access::Person(VIEWER, SESSION),
        Some(120),
    ),
    rpc("/orion.v1.InsightService/GetInsights", Access::Person(VIEWER, READ), Some(60)),
    rpc("/orion.v1.ScheduleService/ListSchedules", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.ScheduleService/CancelSchedule", Access::Person(VIEWER, CALL), Some(120)),
    rpc("/orion.v1.MacroService/ListMacros", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.MacroService/RemoveMacro", Access::Person(VIEWER, SESSION), Some(120)),
    rpc("/orion.v1.DeviceService/ListDevices", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.DeviceService/GetDevice", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.DeviceService/InviteDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/ListInvites", Access::Person(Role::Admin, READ), Some(120)),
    rpc("/orion.v1.DeviceService/RevokeInvite", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/FindEnrollment", Access::Person(Role::Admin, ADMIN), Some(60)),
    rpc("/orion.v1.DeviceService/ConfirmEnrollment", Access::Person(Role::Admin, ADMIN), Some(60)),
    rpc("/orion.v1.DeviceService/RefuseEnrollment", Access::Person(Role::Admin, ADMIN), Some(60)),
    rpc("/orion.v1.DeviceService/ApproveDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/RejectDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/RevokeDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/QuarantineDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/RenameDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/SetDeviceLabels", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/RemoveDevice", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.DeviceService/SetDeviceMode", Access::Person(Role::Admin, SESSION), None),
    rpc("/orion.v1.DeviceService/ReviewDevice", Access::Person(Role::Admin, READ), Some(60)),
    rpc("/orion.v1.PolicyService/GetDevicePermissions", Access::Person(VIEWER, READ), None),
    rpc("/orion.v1.PolicyService/SetDevicePermissions", Access::Person(Role::Admin, ADMIN), None),
    rpc("/orion.v1.PolicyService/GetPolicy", Access::Person(OPERATOR, READ), None),
    rpc("/orion.v1.PolicyService/ListPolicyVersions", Access::Person(OPERATOR, READ), None),
    rpc("/orion.v1.PolicyService/CheckPolicy", Access::Person(Role::Admin, READ), Some(120)),
    rpc("/orion.v1.PolicyService/ApplyPolicy", Access::Person(Role::Admin, ADMIN), Some(60)),
    rpc("/orion.v1.PolicyService/RollbackPolicy", Access::Person(Role::Admin, ADMIN), Some(60)),
    rpc("/orion.v1.PolicyService/TestPolicy", Access::Person(Role::Admin, READ), Some(60)),
    rpc("/orion.v1.PolicyService/ExplainCall", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.ApprovalService/ListApprovals", Access::Person(OPERATOR, READ), None),
    rpc("/orion.v1.ApprovalService/GetApproval", Access::Person(OPERATOR, READ), None),
    rpc("/orion.v1.ApprovalService/GetApprovalStats", Access::Person(Role::Admin, READ), Some(60)),
    rpc("/orion.v1.ApprovalService/DecideApproval", Access::Person(OPERATOR, SESSION), None),
    rpc("/orion.v1.ApprovalService/WatchApprovals", Access::Person(OPERATOR, READ), None),
    rpc("/orion.v1.ApprovalService/ListStandingRules", Access::Person(OPERATOR, READ), None),
    rpc("/orion.v1.ApprovalService/RevokeStandingRule", Access::Person(OPERATOR, SESSION), None),
    rpc("/orion.v1.AccessRequestService/RequestAccess", Access::Person(VIEWER, CALL), Some(60)),
    rpc(
        "/orion.v1.AccessRequestService/GetAccessRequest",
        Access::Person(VIEWER, READ_OR_CALL),
        None,
    ),
    rpc(
        "/orion.v1.AccessRequestService/ListAccessRequests",
        Access::Person(VIEWER, READ_OR_CALL),
        None,
    ),
    rpc(
        "/orion.v1.AccessRequestService/DecideAccessRequest",
        Access::Person(Role::Admin, SESSION),
        None,
    ),
    rpc("/orion.v1.AccessRequestService/EndAccessRequest", Access::Person(VIEWER, SESSION), None),
    rpc("/orion.v1.PlanService/CreatePlan", Access::Person(VIEWER, CALL), None),
    rpc("/orion.v1.PlanService/GetPlan", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.PlanService/ListPlans", Access::Person(VIEWER, READ_OR_CALL), None),
    rpc("/orion.v1.PlanService/DecidePlan", Access::Person(VIEWER, SESSION), None),
    rpc("/orion.v1.AuditService/ListAudit", Access::Person(Role::Admin, READ), None),
    rpc("/orion.v1.AuditService/ExportAudit", Access::Person(Role::Admin, READ), None),
    rpc("/orion.v1.AuditService/VerifyAudit", Access::Person(Role::Admin, READ), None),
    rpc("/orion.v1.AuditService/GetAuditKey", Access::Person(Role::Admin, READ), None),
    rpc("/grpc.health.v1.Health/Check", Access::Anyone, Some(6000)),
    rpc("/grpc.health.v1.Health/Watch", Access::Anyone, Some(600)),
    rpc(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        Access::Person(VIEWER, READ),
        None,
    ),
    rpc(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        Access::Person(VIEWER, READ),
        None,
    ),
    rpc("GET /healthz", Access::Anyone, Some(6000)),
    rpc("GET /v1/models", Access::Person(VIEWER, CHAT), None),
    rpc("POST /v1/chat/completions", Access::Person(VIEWER, CHAT), None),
    rpc("POST /v1/responses", Access::Person(VIEWER, CHAT), None),
    rpc("POST /mcp", Access::Person(VIEWER, CALL), None),
    rpc("GET /mcp", Access::Person(VIEWER, CALL), None),
    rpc("DELETE /mcp", Access::Person(VIEWER, CALL), None),
    rpc("GET /.well-known/oauth-protected-resource", Access::Anyone, Some(600)),
    rpc("GET /.well-known/oauth-protected-resource/mcp", Access::Anyone, Some(600)),
    Operation { path: "GET /", access: Access::Anyone, per_minute: Some(3000) },
    Operation { path: "GET /install.ps1", access: Access::Anyone, per_minute: Some(120) },
    Operation { path: "GET /install.sh", access: Access::Anyone, per_minute: Some(120) },
    Operation { path: "GET /download", access: Access::Anyone, per_minute: Some(120) },
    Operation { path: "POST /page/sign-in", access: Access::Anyone, per_minute: Some(30) },
    Operation { path: "POST /page/first-admin", access: Access::Anyone, per_minute: Some(30) },
    Operation { path: "POST /page/link", access: Access::Anyone, per_minute: Some(30) },
    Operation { path: "POST /page/link-person", access: Access::Anyone, per_minute: Some(30) },
    Operation {
        path: "POST /page/sign-out",
        access: Access::Person(VIEWER, SESSION),
        per_minute: None,
    },
];
