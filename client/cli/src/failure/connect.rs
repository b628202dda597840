//! Why no connection to a backend was made, and the next step.

use std::error::Error;
use std::io;
use std::path::Path;

use orion_domain::Hint;
use tonic::Status;

use super::Failure;
use super::typed::quoted;

/// The part of a TLS library's message, what it means, and what to do.
const CAUSES: &[(&str, &str, &str)] = &[
    (
        "UnknownIssuer",
        "its certificate is signed by an authority that this machine does not trust",
        "get people-ca.pem, which is in the backend's data folder, and sign in with it: orion login --backend URL --ca people-ca.pem; a program with ORION_TOKEN sets ORION_CA to that file. Where that is done already, check the port: people use 7080 by default, and devices another one",
    ),
    (
        "BadSignature",
        "its certificate was not signed by the authority that you named",
        "ask an admin of the backend for the certificate of the authority that signed it, a PEM file: orion login --backend URL --ca FILE",
    ),
    (
        "CaUsedAsEndEntity",
        "its certificate is that of an authority, and not of a server",
        "give the backend a server's certificate: with openssl, add -addext basicConstraints=critical,CA:FALSE",
    ),
    (
        "not valid for name",
        "its certificate is for another name",
        "write the address with a name that is in the certificate",
    ),
    (
        "NotValidForName",
        "its certificate is for another name",
        "write the address with a name that is in the certificate",
    ),
    (
        "xpired",
        "its certificate has expired",
        "tell an admin of the backend, who puts a new one at `certificate` of [people] in orion-server.toml and starts it again; and check this machine's clock",
    ),
    (
        "NotValidYet",
        "its certificate is not valid yet",
        "check the clocks of this machine and of the backend",
    ),
    (
        "InvalidContentType",
        "it does not speak TLS there",
        "write the address with http://, which is for this machine only, or give the backend a certificate",
    ),
    (
        "lookup address",
        "no machine has this name",
        "check the name in the address, and this machine's network",
    ),
];

impl Failure {
    /// Returns why no connection was made. `demo` is the folder of the demo that the backend belongs to, if any.
    pub(crate) fn unreachable(
        backend: &str,
        demo: Option<&Path>,
        error: &(dyn Error + 'static),
    ) -> Self {
        let (inner, kind) = innermost(error);
        let known = CAUSES.iter().find(|(part, ..)| inner.contains(part));
        let (why, hints) = match (known, kind) {
            (Some((_, why, next)), _) => {
                let names = names_of_certificate(&inner);
                let next =
                    names.map_or_else(|| Hint::new(*next), |names| Hint::one_of(*next, names));
                ((*why).to_owned(), vec![next])
            }
            (None, Some(io::ErrorKind::ConnectionRefused)) => (
                "nothing listens there".to_owned(),
                match demo {
                    Some(folder) => demo_again(folder),
                    None => vec![
                        Hint::new(
                            "check the address; on the backend's machine, start it as it was started before, such as `orion-server run --data-dir DIR`",
                        ),
                        Hint::new("or name another backend with --backend"),
                    ],
                },
            ),
            (None, Some(io::ErrorKind::TimedOut)) => (
                "nothing answers there within five seconds".to_owned(),
                vec![Hint::new("check the address, the port, and firewalls in between")],
            ),
            (None, _) => (
                inner,
                vec![
                    Hint::new("see whether the backend runs, and check the address"),
                    Hint::new("or name another backend with --backend"),
                ],
            ),
        };
        Self::Unreachable { backend: backend.to_owned(), why, hints }
    }

    /// Returns the failure of a connection that ended before the backend answered. `None` if the backend answered.
    pub(super) fn lost(status: &Status) -> Option<Self> {
        let (inner, kind) = innermost(status.source()?);
        let tls = "if the backend has a certificate, its address begins with https://";
        if kind == Some(io::ErrorKind::TimedOut) || inner.contains("timed out") {
            let message = "something accepts connections there, and does not answer".to_owned();
            return Some(Self::TimedOut(message).hint("check the address and the port").hint(tls));
        }
        // How it ended depends on who was faster, and says nothing more.
        let message =
            "what answers there closed the connection without an answer that Orion understands";
        Some(
            Self::Failed(message.to_owned())
                .hint("check the address and the port: people use 7080 by default, devices use another one, and it may be no backend of Orion at all")
                .hint(tls)
                .hint("if the backend was being restarted, run the command again"),
        )
    }
}

/// Returns how to start a demo that has ended: its backend ended with it, and another would not have its data.
fn demo_again(folder: &Path) -> Vec<Hint> {
    let command = if folder.ends_with("orion-demo") && folder.parent() == Some(Path::new(".")) {
        "orion demo".to_owned()
    } else {
        format!("orion demo --dir {}", quoted(&folder.display().to_string()))
    };
    let serve = format!("{command} --serve");
    vec![
        Hint::run("its demo has ended; start it again", command),
        Hint::run("or start it without a chat", serve),
    ]
}

/// Returns the names in a certificate, where the TLS library's message has them.
fn names_of_certificate(message: &str) -> Option<Vec<String>> {
    let (_, names) = message.split_once("only valid for ")?;
    // Each name is in a form such as `DnsName("orion.example")`.
    let mut names: Vec<_> = names.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    names.truncate(10);
    (!names.is_empty()).then_some(names)
}

/// Returns the innermost cause, which names the problem, and the kind of the innermost error of the system.
fn innermost(error: &(dyn Error + 'static)) -> (String, Option<io::ErrorKind>) {
    let (mut error, mut kind) = (error, None);
    loop {
        let system = error.downcast_ref::<io::Error>();
        kind = system.map(io::Error::kind).or(kind);
        // An I/O error's `source` skips the error that it wraps.
        let wrapped = system.and_then(io::Error::get_ref).map(|it| it as &(dyn Error + 'static));
        match wrapped.or_else(|| error.source()) {
            Some(inner) => error = inner,
            None => return (error.to_string(), kind),
        }
    }
}
