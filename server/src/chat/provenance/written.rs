//! What a call writes, and where.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orion_catalog::{Content, ToolSpec};
use orion_domain::DeviceName;
use orion_domain::extract::ExtractedCall;
use serde_json::{Map, Value};

use crate::pipeline::validate::Target;
use crate::store::Label;

/// A call as the model wrote it, with what it writes.
#[derive(Debug)]
pub(in crate::chat) struct WrittenCall<'a> {
    pub(super) call: &'a ExtractedCall,
    /// The device. None if it was not found.
    pub(super) device: Option<&'a DeviceName>,
    /// The texts that go into files.
    pub(super) texts: Vec<String>,
    /// The paths that it touches.
    pub(super) paths: Vec<String>,
    /// Whether it is a call of a custom tool.
    pub(super) is_custom: bool,
    /// Whether it moves a file from one device to another.
    pub(super) moves_between_devices: bool,
}

impl<'a> WrittenCall<'a> {
    pub(super) fn new(call: &'a ExtractedCall, target: Option<&'a Target>) -> Self {
        let mut arguments = call.arguments.clone();
        if let Some(target) = target {
            target.spec.adapt_arguments(target.alias, &mut arguments);
        }
        let texts = target.map(|target| texts(target.spec, &arguments)).unwrap_or_default();
        let places = target.and_then(|target| Some((target.spec, target.device.places()?)));
        // A call whose arguments do not fit is refused, so its paths do not matter.
        let parsed = places.and_then(|(spec, places)| spec.parse(arguments, places).ok());
        let paths = parsed.map(|parsed| parsed.touches.paths).unwrap_or_default();
        Self {
            call,
            device: target.map(|target| &target.device.name),
            texts,
            paths: paths.into_iter().map(|touch| touch.path.to_string()).collect(),
            is_custom: target.is_some_and(|target| target.spec.definition().is_some()),
            moves_between_devices: target
                .is_some_and(|target| target.spec.content == Content::FromDevice),
        }
    }

    /// Returns whether the call is of a custom tool of the device that this label is of.
    pub(super) fn is_beside(&self, label: &Label) -> bool {
        self.is_custom && self.device.is_some_and(|device| label.device == device.as_str())
    }

    /// Returns whether content is what a file of the call held before.
    pub(super) fn is_own_file(&self, label: &Label) -> bool {
        self.device.is_some_and(|device| label.device == device.as_str())
            && self.paths.contains(&label.place)
    }
}

/// Returns the texts that go into files, and those that are there as base64.
pub(super) fn texts(spec: &ToolSpec, arguments: &Map<String, Value>) -> Vec<String> {
    let mut texts = Vec::new();
    collect(spec, arguments, &mut texts);
    texts
}

fn collect(spec: &ToolSpec, arguments: &Map<String, Value>, into: &mut Vec<String>) {
    for (name, value) in arguments {
        if let (Some(text), true) = (value.as_str(), spec.writes.contains(&name.as_str())) {
            let bytes = STANDARD.decode(text.trim()).ok();
            into.extend(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
            into.push(text.to_owned());
        }
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_object).for_each(|item| collect(spec, item, into));
    }
}
