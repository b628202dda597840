//! How a browser signs in and out: by a password, by a one-time secret, or by a one-time link. The session goes into a
//! cookie and never into a response that a script can read.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use orion_domain::envelope::sentence;
use orion_domain::{ErrorCode, ToolError, UserName};
use serde::Deserialize;
use serde_json::json;

use super::browser::{FromPage, SessionCookie};
use super::protocol::answer;
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::listen::{Peer, Source};
use crate::people::{self, Change, Identity, Issued, SignInError};

/// Maximum size of a request, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// What the routes use.
#[derive(Debug, Clone)]
struct SignIn {
    backend: Arc<Backend>,
    cookie: SessionCookie,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Password {
    user: String,
    password: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstAdmin {
    secret: String,
    user: String,
    password: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    secret: String,
}

/// Returns the routes.
pub(super) fn routes(backend: &Arc<Backend>, cookie: SessionCookie) -> Router {
    Router::new()
        .route("/page/sign-in", post(with_password))
        .route("/page/first-admin", post(as_first_admin))
        .route("/page/link", post(with_link))
        .route("/page/link-person", post(whose_link))
        .route("/page/sign-out", post(sign_out))
        .layer(DefaultBodyLimit::max(MAX_BYTES))
        .with_state(SignIn { backend: Arc::clone(backend), cookie })
}

async fn with_password(
    State(it): State<SignIn>,
    _: FromPage,
    Extension(peer): Extension<Peer>,
    body: Result<Json<Password>, JsonRejection>,
) -> Response {
    let Ok(Json(Password { user, password })) = body else { return no_request() };
    // A name that is not valid gets the same error as one that does not exist.
    let Ok(user) = user.parse() else { return refused(&SignInError::Wrong) };
    let Backend { store, people, .. } = &*it.backend;
    let source = Source::of(&peer);
    it.answer(people::sign_in(store, people, &source, &user, password).await)
}

async fn as_first_admin(
    State(it): State<SignIn>,
    _: FromPage,
    body: Result<Json<FirstAdmin>, JsonRejection>,
) -> Response {
    let Ok(Json(FirstAdmin { secret, user, password })) = body else { return no_request() };
    let user = match user.parse::<UserName>() {
        Ok(user) => user,
        Err(error) => {
            let error = ToolError::new(ErrorCode::InvalidArgument, sentence(&error.to_string()));
            return answer(StatusCode::BAD_REQUEST, &error);
        }
    };
    let Backend { store, people, first_admin, .. } = &*it.backend;
    let password = Some(password);
    it.answer(if people::is_reset_secret(&secret) {
        first_admin.reset(store, people, &secret, &user, password).await
    } else {
        first_admin.create(store, &secret, &user, password).await
    })
}

async fn with_link(
    State(it): State<SignIn>,
    _: FromPage,
    Extension(peer): Extension<Peer>,
    body: Result<Json<Link>, JsonRejection>,
) -> Response {
    let Ok(Json(Link { secret })) = body else { return no_request() };
    let Backend { store, people, .. } = &*it.backend;
    it.answer(people::sign_in_by_link(store, people, &Source::of(&peer), &secret).await)
}

/// Says whom a link would sign in. The page asks that person for a click before it uses the link: otherwise whoever sends
/// a link could sign others in to an account of their own.
async fn whose_link(
    State(it): State<SignIn>,
    _: FromPage,
    Extension(peer): Extension<Peer>,
    body: Result<Json<Link>, JsonRejection>,
) -> Response {
    let Ok(Json(Link { secret })) = body else { return no_request() };
    let Backend { store, people, .. } = &*it.backend;
    match people::person_of_link(store, people, &Source::of(&peer), &secret).await {
        Ok(user) => Json(json!({ "user": user })).into_response(),
        Err(error) => refused(&error),
    }
}

/// Ends the session of the request, and its open streams.
async fn sign_out(
    State(it): State<SignIn>,
    _: FromPage,
    Extension(identity): Extension<Identity>,
) -> Response {
    let Identity { caller, token, .. } = identity;
    let Backend { store, people, .. } = &*it.backend;
    match store.sign_out(&caller.user, Some(token), now_ms()).await {
        Ok(_) => {
            people.changed(Change::Token(token));
            it.cookie.clear()
        }
        Err(error) => refused(&SignInError::Store(error)),
    }
}

impl SignIn {
    fn answer(&self, issued: Result<Issued, SignInError>) -> Response {
        match issued {
            Ok(session) => self.cookie.set(&session, now_ms()),
            Err(error) => refused(&error),
        }
    }
}

fn no_request() -> Response {
    let message = "This request has not the form that the page sends. Load the page again.";
    answer(StatusCode::BAD_REQUEST, &ToolError::new(ErrorCode::InvalidArgument, message))
}

fn refused(error: &SignInError) -> Response {
    let (status, code) = match error {
        SignInError::Secret
        | SignInError::Reset
        | SignInError::Deleted
        | SignInError::Wrong
        | SignInError::Link
        | SignInError::OldPassword => (StatusCode::UNAUTHORIZED, ErrorCode::PermissionDenied),
        SignInError::Limited(_) => (StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited),
        SignInError::Busy => (StatusCode::TOO_MANY_REQUESTS, ErrorCode::ResourceExhausted),
        SignInError::Length => (StatusCode::BAD_REQUEST, ErrorCode::InvalidArgument),
        SignInError::Store(error) => {
            tracing::error!(%error, "the database failed");
            (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Internal)
        }
    };
    answer(status, &ToolError::new(code, sentence(&error.to_string())))
}
