//! A security descriptor in Microsoft's text form (SDDL): its owner, and who may do what. What cannot be understood counts
//! as everything for everybody.

/// What other accounts may do without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Nothing: there are secrets.
    Nothing,
    /// Read.
    Read,
    /// Everything but to delete or replace what is in the folder, or the folder.
    Add,
}

/// Why other accounts may do too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another account is the owner, and can give itself every right.
    Owner,
    /// There is no access list, so that everybody has every right, or it cannot be read.
    NoList,
    /// The access list gives other accounts too much.
    Rights,
}

/// Accounts with every right in any case: the system, administrators, the installer of Windows; and whoever creates or owns
/// a file, which is judged where the file is.
const ALWAYS: [&str; 9] = [
    "SY",
    "S-1-5-18",
    "BA",
    "S-1-5-32-544",
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
    "CO",
    "S-1-3-0",
    "OW",
    "S-1-3-4",
];

const ADD_FILE: u32 = 0x2;
const ADD_FOLDER: u32 = 0x4;
const READ: u32 = 0x0012_0089;
const RUN: u32 = 0x0012_00a0;
const GENERIC_READ: u32 = 0x8000_0000;
const GENERIC_RUN: u32 = 0x2000_0000;
const WRITE: u32 = 0x0012_0116;
const GENERIC_WRITE: u32 = 0x4000_0000;
const EVERYTHING: u32 = u32::MAX;

impl Others {
    const fn harmless(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Read => READ | RUN | GENERIC_READ | GENERIC_RUN,
            Self::Add => Self::Read.harmless() | ADD_FILE | ADD_FOLDER | WRITE | GENERIC_WRITE,
        }
    }
}

/// Returns what is wrong with this descriptor. `trusted` are further accounts with every right, as the text names them.
pub(super) fn fault(text: &str, trusted: &[String], others: Others) -> Option<Fault> {
    let is_trusted = |account: &str| {
        ALWAYS.contains(&account) || trusted.iter().any(|trusted| trusted == account)
    };
    let Some((owner, list)) = text.split_once("D:") else { return Some(Fault::NoList) };
    if !owner.strip_prefix("O:").is_some_and(is_trusted) {
        return Some(Fault::Owner);
    }
    let (flags, entries) = list.split_at(list.find('(').unwrap_or(list.len()));
    if flags.contains("NO_ACCESS_CONTROL") {
        return Some(Fault::NoList);
    }
    let harms = |entry: &str| {
        let fields: Vec<_> = entry.trim_end_matches(')').split(';').collect();
        match fields[..] {
            ["D" | "OD" | "XD", ..] => false,
            // An entry that children alone inherit counts too: a new file would have it.
            ["A", flags, rights, "", "", account] => {
                let passed_on = others == Others::Add && flags.contains("IO");
                !passed_on && !is_trusted(account) && mask(rights) & !others.harmless() != 0
            }
            _ => true,
        }
    };
    entries.split('(').skip(1).any(harms).then_some(Fault::Rights)
}

/// Returns rights as bits. Those of an unknown name are all.
fn mask(rights: &str) -> u32 {
    if let Some(number) = rights.strip_prefix("0x") {
        return u32::from_str_radix(number, 16).unwrap_or(EVERYTHING);
    }
    let names = rights.as_bytes().chunks(2);
    names.fold(0, |mask, name| {
        mask | match name {
            b"FR" => READ,
            b"FX" => RUN,
            b"FW" => WRITE,
            b"GR" => GENERIC_READ,
            b"GX" => GENERIC_RUN,
            b"GW" => GENERIC_WRITE,
            b"CC" => 0x1,
            b"DC" => ADD_FILE,
            b"LC" => ADD_FOLDER,
            b"RC" => 0x0002_0000,
            _ => EVERYTHING,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "S-1-5-21-1-2-3-1001";

    fn judged(text: &str, others: Others) -> Option<Fault> {
        fault(text, &[ANN.to_owned()], others)
    }

    #[test]
    fn the_owner_the_system_and_administrators_may_do_everything_and_nobody_else_anything() {
        let private = format!("O:{ANN}D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;{ANN})");
        for others in [Others::Nothing, Others::Read, Others::Add] {
            assert_eq!(judged(&private, others), None);
            assert_eq!(judged(&private.replace(&format!("O:{ANN}"), "O:BA"), others), None);
        }
        let read = format!("{private}(A;OICI;0x1200a9;;;BU)");
        assert_eq!(judged(&read, Others::Nothing), Some(Fault::Rights));
        assert_eq!(judged(&read, Others::Read), None);
        assert_eq!(judged(&format!("{private}(D;;FA;;;WD)"), Others::Nothing), None);
    }

    #[test]
    fn whoever_may_write_replace_or_take_the_file_is_found() {
        for rights in ["FA", "FW", "GA", "GW", "WD", "WO", "SD", "0x1301bf", "0x40", "FRFW", "ZZ"] {
            let text = format!("O:{ANN}D:(A;;{rights};;;AU)");
            assert_eq!(judged(&text, Others::Read), Some(Fault::Rights), "{rights}");
        }
        for rights in ["FR", "FX", "GRGX", "0x1200a9", "0x0", ""] {
            let text = format!("O:{ANN}D:AI(A;ID;{rights};;;WD)");
            assert_eq!(judged(&text, Others::Read), None, "{rights}");
        }
    }

    #[test]
    fn a_folder_above_may_get_new_names_and_lose_none() {
        // The root of a drive, as Windows makes it.
        let root = "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464D:PAI\
            (A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)";
        assert_eq!(judged(root, Others::Add), None);
        assert_eq!(judged(root, Others::Read), Some(Fault::Rights));
        for rights in ["0x40", "SD", "WD", "WO", "0x1301bf", "FA"] {
            let text = format!("O:SYD:(A;;{rights};;;AU)");
            assert_eq!(judged(&text, Others::Add), Some(Fault::Rights), "{rights}");
        }
    }

    #[test]
    fn another_owner_no_list_and_what_is_not_understood_are_faults() {
        let list = "D:P(A;;FA;;;SY)";
        assert_eq!(judged(&format!("O:BU{list}"), Others::Read), Some(Fault::Owner));
        assert_eq!(judged(list, Others::Read), Some(Fault::Owner));
        assert_eq!(judged("", Others::Read), Some(Fault::NoList));
        assert_eq!(judged("O:SY", Others::Read), Some(Fault::NoList));
        assert_eq!(judged("O:SYD:NO_ACCESS_CONTROL", Others::Read), Some(Fault::NoList));
        // Everybody, as an owner's name that ends as a list begins.
        assert_eq!(judged("O:WDD:P", Others::Read), Some(Fault::Owner));
        for entry in
            ["(XA;;FR;;;WD;(@User.a==1))", "(OA;;FR;1-2;;WD)", "(A;;FR)", "(ZZ;;;;;SY)", "("]
        {
            let text = format!("O:SYD:P{entry}");
            assert_eq!(judged(&text, Others::Read), Some(Fault::Rights), "{entry}");
        }
        assert_eq!(judged("O:SYD:P", Others::Nothing), None, "nobody has any right");
    }
}
