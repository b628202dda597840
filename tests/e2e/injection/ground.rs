//! Where the pairs are replayed: two devices with everyday files, a web server, a server of tools, and whatever else
//! holds planted text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use orion_tests::{Device, HeldModel, World, eventually};
use orion_wire::v1;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::pair::Pair;

/// What a person may have on the device where they work: paths, texts, and whether it is a script.
const FILES: [(&str, &str, bool); 9] = [
    ("reports/2024.txt", "A good year.\n", false),
    ("reports/2025.txt", "A better year.\n", false),
    ("photos/a.jpg", "picture", false),
    ("archive/old.txt", "An old text.\n", false),
    ("contacts.txt", "Ann, ann@example.org\nBob, bob@example.org\n", false),
    ("budget.csv", "rent,900\nfood,400\n", false),
    ("notes/monday.txt", "Call the plumber. Buy milk and eggs.\n", false),
    ("scripts/cleanup.sh", "#!/bin/sh\necho cleanup\n", true),
    ("scripts/backup.sh", "#!/bin/sh\necho backup\n", true),
];

/// The tools of the backend that the person's chats may use.
const BACKEND_TOOLS: [&str; 4] = ["calculate", "list_devices", "fetch_webpage", "http_request"];

/// A server of tools, whose descriptions the test writes in the place of `TOOLS`.
const SERVER: &str = r"#!/usr/bin/env node
const fs = require('fs');
const described = TOOLS;
const send = (message) => fs.writeSync(1, JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const tools = Object.entries(described).map(([name, description]) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
}));
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: 'team', version: '1' };
  const { protocolVersion } = params ?? {};
  if (method === 'initialize') send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  if (method === 'tools/list') send({ id, result: { tools } });
  if (method === 'tools/call') send({ id, result: { content: [{ type: 'text', text: 'It is well known.' }] } });
});
";

pub(super) struct Ground {
    pub(super) world: World,
    pub(super) model: HeldModel,
    /// The address of the web server.
    pub(super) pages: String,
    desk: Device,
    nas: Device,
    served: Arc<Mutex<HashMap<String, String>>>,
}

impl Ground {
    /// Starts what the pairs of one channel need.
    pub(super) async fn new(pairs: &[Pair]) -> Self {
        let model = HeldModel::start().await;
        // What is read is given to the model whole.
        let limit = "[chat]\nresult_limit = 65536\n";
        let world = World::configured(&format!("{}{limit}", model.section)).await;
        let of = |channel: &'static str| pairs.iter().filter(move |pair| pair.channel == channel);
        let servers = if of("tool_description").next().is_some() {
            "[mcp.team]\ncommand = \"team-server\"\nrisk = \"low\"\n"
        } else {
            ""
        };
        let ceiling = format!(
            "[ceiling]\nprofile = \"developer\"\npaths = [\"{{files}}\"]\napps = [\"viewer\", \"player\"]\n\
             [apps]\nviewer = \"/bin/true\"\nplayer = \"/bin/true\"\n{servers}"
        );
        let grants = json!({
            "profile": "developer", "paths": ["{files}"], "apps": ["viewer", "player"],
        });
        let desk = world.device("desk").grant(grants).ceiling(&ceiling).enroll().await;
        let described: HashMap<_, _> = of("tool_description")
            .map(|pair| (name_of(pair).trim_start_matches("team__"), pair.content.clone()))
            .collect();
        desk.install("team-server", &SERVER.replace("TOOLS", &json!(described).to_string()));
        desk.run().await;
        let nas = world.device("nas").start().await;
        for pair in of("tool_description") {
            approve(&world, name_of(pair)).await;
        }
        for pair in of("device_name") {
            let device = world.device(&pair.plant).grant(json!({"tools": ["get_datetime"]}));
            device.start().await.stop().await;
        }
        let (pages, served) = serve().await;
        let mut backend = json!({ "tools": BACKEND_TOOLS });
        if of("page").next().is_some() {
            backend["hosts"] = json!([pages.trim_start_matches("http://")]);
        }
        let request = v1::SetDevicePermissionsRequest {
            device: "backend".to_owned(),
            grants: backend.to_string(),
            ..Default::default()
        };
        world.admin().policy().set_device_permissions(request).await.unwrap();
        Self { world, model, pages, desk, nas, served }
    }

    /// Puts everything in its place for a pair.
    pub(super) fn reset(&self, pair: &Pair) {
        for (path, text, is_script) in FILES {
            if is_script {
                self.desk.write_script(path, text);
            } else {
                self.desk.write_file(path, text);
            }
        }
        self.nas.write_file("media/list.txt", "film one\n");
        self.nas.write_file("backup/photos.txt", "a list of photos\n");
        self.nas.write_file("public/readme.txt", "Everybody may read this.\n");
        let content = pair.content.clone().unwrap_or_default();
        match pair.channel.as_str() {
            "file" | "log" | "file_name" => self.desk.write_file(name_of(pair), content),
            "page" => {
                self.served.lock().unwrap().insert(format!("/{}", name_of(pair)), content);
            }
            _ => {}
        }
    }
}

fn name_of(pair: &Pair) -> &str {
    pair.path.as_deref().unwrap_or_default()
}

/// Approves a tool as its server describes it.
async fn approve(world: &World, name: &str) {
    let tool = eventually(&format!("{name} announced"), async || {
        let request = v1::ListCustomToolsRequest::default();
        let listed = world.admin().tools().list_custom_tools(request).await.ok()?.into_inner();
        listed.tools.into_iter().find(|tool| tool.name == name && tool.is_announced)
    })
    .await;
    let request = v1::DecideCustomToolRequest {
        device: tool.device,
        name: tool.name,
        digest: tool.digest,
        approve: true,
        risk: v1::Risk::Low.into(),
    };
    world.admin().tools().decide_custom_tool(request).await.unwrap();
}

/// Starts a web server. Returns its address and its pages.
async fn serve() -> (String, Arc<Mutex<HashMap<String, String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let pages: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let served = Arc::clone(&pages);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let served = Arc::clone(&served);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await? > 0 {}
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let page = served.lock().unwrap().get(path).cloned().unwrap_or_default();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{page}",
                    page.len()
                );
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await
            });
        }
    });
    (address, pages)
}
