//! A scripted backend: it hands every stream to the test, and answers enrolments from a script.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use orion_mtls::CertificateAuthority;
use orion_wire::v1::agent_service_server::{AgentService, AgentServiceServer};
use orion_wire::v1::enrollment_service_server::{EnrollmentService, EnrollmentServiceServer};
use orion_wire::{MAX_MESSAGE_BYTES, v1};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::{Connected, Server};
use tonic::{Request, Response, Status, Streaming};

use crate::world::now_ms;

/// One device's stream, in both directions.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) requests: Streaming<v1::LinkRequest>,
    pub(crate) responses: mpsc::Sender<Result<v1::LinkResponse, Status>>,
}

/// The backend's answers, and the requests that it received.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) enroll: VecDeque<Result<v1::EnrollResponse, Status>>,
    pub(crate) decisions: VecDeque<Result<v1::GetEnrollmentResponse, Status>>,
    /// The tickets that devices generated.
    pub(crate) tickets: Vec<String>,
    /// Certificate requests of enrolments and renewals.
    pub(crate) requests: Vec<String>,
    pub(crate) asked: usize,
}

#[derive(Clone)]
struct Service {
    streams: mpsc::Sender<Stream>,
    script: Arc<Mutex<Script>>,
    authority: Arc<CertificateAuthority>,
    device: String,
}

#[tonic::async_trait]
impl AgentService for Service {
    type LinkStream = ReceiverStream<Result<v1::LinkResponse, Status>>;

    async fn link(
        &self,
        request: Request<Streaming<v1::LinkRequest>>,
    ) -> Result<Response<Self::LinkStream>, Status> {
        let (responses, queue) = mpsc::channel(16);
        let stream = Stream { requests: request.into_inner(), responses };
        self.streams.send(stream).await.map_err(|_| Status::unavailable("over"))?;
        Ok(Response::new(ReceiverStream::new(queue)))
    }

    async fn renew_certificate(
        &self,
        request: Request<v1::RenewCertificateRequest>,
    ) -> Result<Response<v1::RenewCertificateResponse>, Status> {
        let request = request.into_inner().certificate_request;
        let issued = self
            .authority
            .issue_device(request.as_bytes(), &self.device, Duration::from_hours(24), now_ms())
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        self.script.lock().unwrap().requests.push(request);
        Ok(Response::new(v1::RenewCertificateResponse {
            certificate: issued.cert_pem,
            not_after: issued.not_after_ms,
            authorities: vec![self.authority.cert_pem().to_owned()],
        }))
    }
}

#[tonic::async_trait]
impl EnrollmentService for Service {
    async fn enroll(
        &self,
        request: Request<v1::EnrollRequest>,
    ) -> Result<Response<v1::EnrollResponse>, Status> {
        let v1::EnrollRequest { certificate_request: request, ticket, .. } = request.into_inner();
        let mut script = self.script.lock().unwrap();
        script.asked += 1;
        script.tickets.push(ticket);
        script.requests.push(request.clone());
        let answer = script.enroll.pop_front().unwrap_or(Err(Status::internal("no script")));
        answer.map(|mut response| {
            if let Some(certificate) = &mut response.certificate {
                self.issue(certificate, &request);
            }
            Response::new(response)
        })
    }

    async fn get_enrollment(
        &self,
        request: Request<v1::GetEnrollmentRequest>,
    ) -> Result<Response<v1::GetEnrollmentResponse>, Status> {
        assert_eq!(request.into_inner().ticket, "ticket");
        let mut script = self.script.lock().unwrap();
        let answer = script.decisions.pop_front().unwrap_or(Err(Status::internal("no script")));
        let request = script.requests.last().cloned().unwrap_or_default();
        answer.map(|mut response| {
            if let Some(certificate) = &mut response.certificate {
                self.issue(certificate, &request);
            }
            Response::new(response)
        })
    }

    async fn request_enrollment(
        &self,
        _: Request<v1::RequestEnrollmentRequest>,
    ) -> Result<Response<v1::RequestEnrollmentResponse>, Status> {
        Err(Status::unimplemented("no codes here"))
    }

    async fn await_confirmation(
        &self,
        _: Request<v1::AwaitConfirmationRequest>,
    ) -> Result<Response<v1::AwaitConfirmationResponse>, Status> {
        Err(Status::unimplemented("no codes here"))
    }
}

impl Service {
    /// Issues a certificate for the request, if the script left it empty.
    fn issue(&self, certificate: &mut v1::IssuedCertificate, request: &str) {
        if certificate.certificate.is_empty() {
            let issued = self
                .authority
                .issue_device(request.as_bytes(), &self.device, Duration::from_hours(24), now_ms())
                .unwrap();
            *certificate = v1::IssuedCertificate {
                certificate: issued.cert_pem,
                not_after: issued.not_after_ms,
                authorities: vec![self.authority.cert_pem().to_owned()],
            };
        }
    }
}

/// Serves on a free loopback port until the test's runtime ends.
pub(crate) async fn serve(
    tls: Arc<ServerConfig>,
    authority: Arc<CertificateAuthority>,
    device: String,
    script: Arc<Mutex<Script>>,
) -> (SocketAddr, mpsc::Receiver<Stream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (streams, receiver) = mpsc::channel(8);
    let service = Service { streams, script, authority, device };
    let (accepted, incoming) = mpsc::channel(8);
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(tls);
        loop {
            let Ok((tcp, _)) = listener.accept().await else { return };
            let (acceptor, accepted) = (acceptor.clone(), accepted.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(tcp).await {
                    drop(accepted.send(Ok::<_, io::Error>(Tls(stream))).await);
                }
            });
        }
    });
    tokio::spawn(
        Server::builder()
            .add_service(
                AgentServiceServer::new(service.clone())
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(64 * 1024 * 1024),
            )
            .add_service(EnrollmentServiceServer::new(service))
            .serve_with_incoming(ReceiverStream::new(incoming)),
    );
    (address, receiver)
}

struct Tls(TlsStream<TcpStream>);

impl Connected for Tls {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Tls {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Tls {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
