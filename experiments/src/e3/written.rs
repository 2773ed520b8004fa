//! Writes attacked vaults to a folder, for another reader of the format.

use std::fs;
use std::path::Path;

use super::attacks;
use super::draw::Draw;
use super::judge::{NOW, Vault};
use super::reviewed;
use super::script::ctx;
use super::table;
use super::vaults::Kind;
use crate::process::Result;
use crate::{Options, Sizes};

/// Number of vaults.
const COUNT: Sizes<u64> = (120, 120, 40);
/// Number of governed vaults without an attack.
const REVIEWED: Sizes<u64> = (30, 30, 12);

/// Writes vaults, each with a random attack, as `N/vault`, next to the answer of `verify --json` to
/// each, `N/expected.json`. Every tenth is honest, and so are governed ones. `--only WORD` selects
/// the attacks with this word in their names.
pub(crate) fn write_vaults(options: &Options) -> Result<()> {
    let (mut attacks, rows) = (attacks::all(), table::rows()?);
    let only = options.only.as_deref().unwrap_or_default();
    attacks.retain(|(name, _)| name.contains(only));
    let seed = options.seed.unwrap_or(1);
    let (count, reviewed) = (options.size(COUNT), options.size(REVIEWED));
    let mut made = 0;
    let mut draw = Draw::new(seed, "vaults");
    while made < count {
        let kind = Kind::ALL[draw.below(3)];
        let work = options.dir.join("work");
        let vault = Vault::make(kind, seed * 1_000 + made, &work)?;
        for _ in 0..6 {
            let (name, attack) = attacks[draw.below(attacks.len())];
            let row = rows.iter().find(|row| row.name == name);
            let column = row.and_then(|r| if kind == Kind::Delta { r.delta } else { r.full });
            if column.is_none() || made == count {
                continue;
            }
            let folder = options.dir.join(format!("{made:03}"));
            fs::create_dir_all(&folder)?;
            let root = folder.join("vault");
            let is_honest = made % 10 == 9;
            let attack = if is_honest { None } else { Some(attack) };
            let name = if is_honest { "honest" } else { name };
            if vault.written(&root, name, attack)? {
                expect(&folder, &root, &format!("{name} in {}", vault.name()))?;
                made += 1;
            } else {
                fs::remove_dir_all(&folder)?;
            }
        }
        fs::remove_dir_all(&work)?;
    }
    for n in count..count + reviewed {
        let folder = options.dir.join(format!("{n:03}"));
        let root = folder.join("vault");
        reviewed::make(&root, seed * 1_000 + n)?;
        expect(&folder, &root, "reviewed")?;
    }
    Ok(())
}

fn expect(folder: &Path, root: &Path, name: &str) -> Result<()> {
    let said = ctx(root, &["verify", "--json", "--now", NOW], None);
    fs::write(folder.join("name"), name)?;
    Ok(fs::write(folder.join("expected.json"), said.stdout)?)
}
