//! Compares the access table with the descriptors of the API.

use std::collections::BTreeSet;

use orion_wire::v1;
use prost::Message as _;

use crate::access::TABLE;

#[test]
fn every_rpc_of_the_api_stands_in_the_table_once() {
    let descriptors = prost_types::FileDescriptorSet::decode(v1::DESCRIPTORS).unwrap();
    let mut rpcs = BTreeSet::new();
    for file in &descriptors.file {
        for service in &file.service {
            for method in &service.method {
                rpcs.insert(format!("/{}.{}/{}", file.package(), service.name(), method.name()));
            }
        }
    }
    let rows: Vec<_> = TABLE.iter().map(|row| row.path.to_owned()).collect();
    let ours: BTreeSet<_> = rows.iter().filter(|row| row.starts_with("/orion.")).cloned().collect();
    assert_eq!(ours, rpcs);
    assert_eq!(rows.len(), rows.iter().collect::<BTreeSet<_>>().len());
}
