//! Executes `get_device_info`.

use std::cmp::Reverse;

use orion_catalog::tools::get_device_info::{
    Arguments, Cpu, Disk, Drive, GetDeviceInfo, Interface, Memory, Process, Returns, Section,
    System, Workspace,
};
use orion_domain::{ErrorCode, ToolError, visible};
use sysinfo::{
    CpuRefreshKind, DiskRefreshKind, Disks, MINIMUM_CPU_UPDATE_INTERVAL, MemoryRefreshKind,
    Networks, RefreshKind,
};

use super::processes::{self, Wanted};
use super::{Context, Outcome, PlainTool};

const MAX_LISTED: usize = 64;
const MAX_PROCESSES: usize = 10;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

impl PlainTool for GetDeviceInfo {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let mut data = Returns { device_id: context.device_id.to_owned(), ..Returns::default() };
        let mut sections = arguments.include;
        sections.sort_unstable();
        sections.dedup();
        for section in sections {
            context.check()?;
            match section {
                Section::System => data.system = Some(system()?),
                Section::Cpu => data.cpu = Some(cpu(context)?),
                Section::Memory => data.memory = Some(memory()?),
                Section::Disk => data.disk = Some(disk()?),
                Section::Network => data.network = Some(network()?),
                Section::Processes => data.processes = Some(processes(context)?),
                Section::Workspace => data.workspace = Some(workspace(context)),
            }
        }
        let host = sysinfo::System::host_name().ok().filter(|host| !host.is_empty());
        let about = host.map_or_else(|| "this device".to_owned(), |host| visible(&host));
        Ok(Outcome::new(format!("About {about}."), data))
    }
}

/// Returns the error for what the operating system does not report.
fn not_reported<E>(_: E) -> ToolError {
    ToolError::new(
        ErrorCode::NotSupported,
        "The operating system does not report this to the agent.",
    )
    .hint("ask for fewer parts")
}

fn load(kind: RefreshKind) -> Result<sysinfo::System, ToolError> {
    sysinfo::System::new_with_specifics(kind).map_err(not_reported)
}

fn system() -> Result<System, ToolError> {
    let kind = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let loaded = load(kind)?;
    let os = sysinfo::System::long_os_version().or_else(|_| sysinfo::System::name());
    Ok(System {
        hostname: sysinfo::System::host_name().unwrap_or_default(),
        os: os.unwrap_or_else(|_| std::env::consts::OS.to_owned()),
        cpu: cpu_name(&loaded),
        ram_gb: gib(loaded.total_memory()),
        uptime_seconds: sysinfo::System::uptime().unwrap_or_default(),
    })
}

fn cpu_name(loaded: &sysinfo::System) -> String {
    loaded.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).unwrap_or_default()
}

fn cpu(context: &Context<'_>) -> Result<Cpu, ToolError> {
    let mut loaded = load(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing().with_usage()))?;
    // CPU usage is the difference between two samples, which sysinfo wants this far apart.
    context.wait(MINIMUM_CPU_UPDATE_INTERVAL)?;
    loaded.refresh_cpu_usage();
    let load = sysinfo::System::load_average();
    let load = load.map_or([0.0; 3], |load| [load.one, load.five, load.fifteen]);
    Ok(Cpu {
        name: cpu_name(&loaded),
        cores: loaded.cpus().len() as u64,
        used_percent: tenths(f64::from(loaded.global_cpu_usage())),
        load,
    })
}

fn memory() -> Result<Memory, ToolError> {
    let loaded = load(RefreshKind::nothing().with_memory(MemoryRefreshKind::everything()))?;
    Ok(Memory {
        total_bytes: loaded.total_memory(),
        available_bytes: loaded.available_memory(),
        swap_used_bytes: loaded.used_swap(),
    })
}

fn disk() -> Result<Disk, ToolError> {
    let kind = DiskRefreshKind::nothing().with_storage();
    let disks = Disks::new_with_refreshed_list_specifics(kind).map_err(not_reported)?;
    let mut drives: Vec<_> = disks
        .iter()
        .filter(|disk| disk.total_space() > 0)
        .map(|disk| {
            let (total_gb, free_gb) = (gib(disk.total_space()), gib(disk.available_space()));
            let share = bytes(disk.available_space()) / bytes(disk.total_space());
            Drive {
                mount: visible(&disk.mount_point().display().to_string()),
                total_gb,
                free_gb,
                percentage_free: tenths(share * 100.0),
            }
        })
        .collect();
    drives.sort_by(|a, b| a.mount.cmp(&b.mount));
    drives.dedup_by(|a, b| a.mount == b.mount);
    drives.truncate(MAX_LISTED);
    Ok(Disk { drives })
}

fn network() -> Result<Vec<Interface>, ToolError> {
    let networks = Networks::new_with_refreshed_list().map_err(not_reported)?;
    let mut interfaces: Vec<_> = networks
        .iter()
        .map(|(name, network)| {
            let mut addresses: Vec<_> = network
                .ip_networks()
                .iter()
                .take(MAX_LISTED)
                .map(|network| network.addr.to_string())
                .collect();
            addresses.sort();
            Interface { name: visible(&name.to_string_lossy()), addresses }
        })
        .collect();
    interfaces.sort_by(|a, b| a.name.cmp(&b.name));
    interfaces.truncate(MAX_LISTED);
    Ok(interfaces)
}

fn processes(context: &Context<'_>) -> Result<Vec<Process>, ToolError> {
    let sample = processes::sample(Wanted::Memory, context)?;
    let mut all: Vec<_> = sample.processes().collect();
    all.sort_unstable_by_key(|process| (Reverse(process.memory()), process.pid()));
    let largest = all.into_iter().take(MAX_PROCESSES);
    let process = |process| Process {
        pid: sysinfo::Process::pid(process).as_u32(),
        name: processes::name(process),
        memory_bytes: process.memory(),
    };
    Ok(largest.map(process).collect())
}

fn workspace(context: &Context<'_>) -> Workspace {
    Workspace { paths: context.roots.all_paths(), writable: context.roots.writable() }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are told to one decimal")]
fn bytes(count: u64) -> f64 {
    count as f64
}

fn gib(count: u64) -> f64 {
    tenths(bytes(count) / GIB)
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests;
