//! Attacks on live files; the record stays as it is.

use super::spelling::HIDDEN;
use super::{Attack, entry, reworded};
use crate::e3::forge::Target;
use crate::e3::forge::history::{with_checksum, with_field};
use crate::e3::forge::live_path;
use crate::e3::place::Place;

const PUBLISHED: &str = "---\ntitle: Planted\nstatus: published\nversion: 1\n---\n# Planted\n";

pub(super) const LIVE: &[(&str, Attack)] = &[
    ("live-body-edited", |t| edited(t, |_, text| Some(reworded(text)))),
    ("live-frontmatter-edited", |t| {
        edited(t, |t, text| {
            let (key, value) =
                [("author", "eve@example.com"), ("title", "Another title"), ("type", "reference")]
                    [t.draw.below(3)];
            Some(with_field(text, key, value))
        })
    }),
    ("live-checksum-edited", |t| {
        edited(t, |_, text| Some(with_field(text, "checksum", &"0".repeat(64))))
    }),
    ("live-body-and-checksum-edited", |t| {
        edited(t, |_, text| Some(with_checksum(&reworded(text))))
    }),
    ("live-version-raised", |t| edited(t, |_, text| Some(with_field(text, "version", "99")))),
    ("live-turned-back", |t| {
        let published = t.published().into_iter();
        let published = published.filter(|(history, head)| history.entries[0].version < *head);
        let (history, head) = t.draw.pick(published)?;
        let older = (0..history.entries.len()).filter(|at| {
            history.entries[*at].version < head && history.entries[*at].is_published()
        });
        let older = t.draw.pick(older)?;
        t.write(&live_path(&history.id), &history.texts(t)[older]);
        Some(Place::of(&history.id))
    }),
    ("live-deleted", |t| file(t, Target::remove)),
    ("live-as-link", |t| file(t, Target::link_out)),
    ("live-as-folder", |t| {
        file(t, |t, path| {
            t.remove(path);
            t.folder(path);
        })
    }),
    ("live-made-draft", |t| {
        edited(t, |_, text| Some(with_field(&reworded(text), "status", "draft")))
    }),
    ("planted-published", |t| planted(t, "nodes/planted", PUBLISHED)),
    ("planted-unreadable", |t| {
        let breaks = [
            PUBLISHED.replacen("status:", "status: draft\nstatus:", 1),
            PUBLISHED.replacen("---\n", "---\n<<: {a: 1}\n", 1),
            PUBLISHED.replacen(
                "---\n",
                "---\ntags: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
                1,
            ),
        ];
        let n = t.draw.below(breaks.len());
        planted(t, "nodes/planted", &breaks[n])
    }),
    ("planted-hidden-status", |t| {
        let end = t.draw.of(&HIDDEN);
        let hidden = format!("status: draft # {end}status:");
        planted(t, "nodes/planted", &PUBLISHED.replacen("status:", &hidden, 1))
    }),
    ("planted-look-alike", |t| {
        let id = t.live()?;
        let alike = match t.draw.below(3) {
            // Cyrillic, a zero-width blank, and a digit for a letter.
            0 => id.replace('a', "а"),
            1 => format!("{id}\u{200b}"),
            _ => format!("{id}1"),
        };
        if alike == id {
            return None;
        }
        let place = planted(t, &alike, PUBLISHED)?;
        // A name that cannot be an id is reported by its path alone.
        Some(if alike.contains('\u{200b}') { Place::vault() } else { place })
    }),
    ("planted-draft", |t| {
        let text = with_field(PUBLISHED, "status", "draft");
        planted(t, "nodes/planted", &text)
    }),
    ("retired-made-published", |t| {
        let head = t.log().checkpoints.last()?.versions.clone();
        let (history, _) =
            entry(t, |h, _, entry| entry.retired.is_some() && !head.contains_key(&h.id))?;
        t.edit(&live_path(&history.id), |text| with_field(text, "status", "published"));
        Some(Place::of(&history.id))
    }),
    ("planted-link", |t| {
        let to = t.draw.of(&["/etc/passwd", "../../outside.md", "/"]);
        t.link("nodes/planted.md", to);
        Some(Place::vault())
    }),
    ("planted-vault", |t| {
        let ids = t.published().into_iter().map(|(history, _)| history.id);
        let folders = ids.filter_map(|id| Some(id.rsplit_once('/')?.0.to_owned()));
        let folders: Vec<String> = folders.filter(|folder| folder.contains('/')).collect();
        let folder = t.draw.pick(folders)?;
        t.write(&format!("{folder}/.context/config.yaml"), "version: 1\nname: Inner\n");
        Some(Place::vault())
    }),
];

/// Changes the text of a live file.
fn edited(
    target: &mut Target,
    change: impl Fn(&mut Target, &str) -> Option<String>,
) -> Option<Place> {
    let id = target.live()?;
    let before = target.read(&live_path(&id));
    let text = change(target, &before).filter(|text| *text != before)?;
    target.write(&live_path(&id), text);
    Some(Place::of(&id))
}

/// Applies a change to a live file.
fn file(target: &mut Target, change: impl Fn(&Target, &str)) -> Option<Place> {
    let id = target.live()?;
    change(target, &live_path(&id));
    Some(Place::of(&id))
}

fn planted(target: &Target, id: &str, text: &str) -> Option<Place> {
    target.write(&live_path(id), text);
    Some(Place::of(id))
}
