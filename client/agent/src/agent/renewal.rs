//! The device's certificate: renewed in time on the open connection, or on a connection of its own after the device
//! slept past its end.

use std::sync::Arc;
use std::time::Duration;

use orion_mtls::DeviceKey;
use orion_wire::v1;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::environment::Renewing;
use super::event::Event;
use super::{Agent, Renewal};
use crate::clock::{now_ms, until};
use crate::connect::ConnectError;
use crate::connect::renew::{Renewed, check, pause, renew, renew_at, retry_in};

impl Agent {
    /// Schedules an early renewal because the trusted authorities changed. The renewal brings the new ones.
    pub(super) fn renew_soon(&mut self, within: Duration) {
        self.requested_renewal.ask(Instant::now(), within, self.environment.random());
    }

    pub(super) fn renew(&mut self) {
        let Some(client) = self.phase.linked().map(|linked| linked.client.clone()) else { return };
        self.requested_renewal.begin(Instant::now());
        let request = match self.identity.key.csr() {
            Ok(request) => request,
            Err(error) => return self.renewed(Err(error.into())),
        };
        tracing::info!("asking for a new certificate");
        self.renewal = Renewal::Asked(self.ask(renew(client, request, 0), Event::Renewed));
    }

    /// Waits for the answer to a request for a certificate, checks it and sends it as this event.
    fn ask(
        &self,
        answer: impl Future<Output = Result<v1::RenewCertificateResponse, ConnectError>>
        + Send
        + 'static,
        event: fn(Result<Renewed, ConnectError>) -> Event,
    ) -> AbortOnDropHandle<()> {
        let (device, events) = (self.identity.device_id, self.events.clone());
        let pem = self.identity.key.to_pem();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let renewed = async {
                let v1::RenewCertificateResponse { certificate, not_after, authorities } =
                    answer.await?;
                let key = DeviceKey::from_pem(pem.expose())?;
                check(certificate, &authorities, not_after, device, &key)
            };
            drop(events.send(event(renewed.await)).await);
        }))
    }

    /// Stores a new certificate and reconnects with it, or schedules a retry.
    pub(super) fn renewed(&mut self, result: Result<Renewed, ConnectError>) {
        let now = now_ms();
        let retry = Renewal::Waiting(Instant::now() + retry_in(now, self.identity.not_after));
        let Renewed { certificate, authorities, not_after, lifetime } = match result {
            Ok(renewed) => renewed,
            Err(error) => {
                tracing::warn!(%error, "the certificate could not be renewed");
                self.renewal = retry;
                self.requested_renewal.failed(Instant::now());
                return;
            }
        };
        self.identity.certificate = certificate;
        self.identity.authorities = authorities;
        self.identity.not_after = not_after;
        self.identity.renew_at = renew_at(now, not_after, lifetime, self.environment.random());
        if let Err(error) = self.identity.save(&self.state) {
            // This process still uses it. The next start finds the old certificate, or none.
            tracing::error!(%error, "the new certificate could not be kept");
        }
        self.renewal = Renewal::Waiting(Instant::now() + pause(until(not_after, now)));
        if self.phase.linked().is_some() {
            self.succeed();
        }
    }

    /// Asks for a new certificate with the expired one, which can be used for nothing else.
    pub(super) fn renew_expired(&self) -> Result<AbortOnDropHandle<()>, ConnectError> {
        tracing::info!("the certificate has expired; asking for a new one");
        let renewing = Renewing {
            address: self.address()?,
            tls: self.identity.tls()?,
            request: self.identity.key.csr()?,
            state: Arc::clone(&self.state),
        };
        Ok(self.ask(renewing.ask(), Event::RenewedExpired))
    }

    /// Connects with the certificate that replaces an expired one.
    pub(super) fn renewed_expired(&mut self, result: Result<Renewed, ConnectError>) {
        if self.phase.linked().is_some() {
            return;
        }
        match result {
            Ok(renewed) => {
                self.renewed(Ok(renewed));
                self.has_expired = false;
                self.connect();
            }
            Err(why) => self.not_connected(&why),
        }
    }
}
