//! The stale-version attack without a language model: which ways of finding text return superseded
//! or unpublished texts, and how much they put into a context.
//!
//! A text is judged by whole sentences: whether it contains the current sentence of the fact in
//! question, and whether it contains one that contradicts this fact, or any other fact.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Options;
use crate::bm25::Bm25;
use crate::corpus;
use crate::handbook::{Fact, How, PLANTED, SUPERSEDED, Superseded};
use crate::process::{Result, command, head, output, row};

/// Number of services of the corpus whose documents are added to those of the company.
const SERVICES: usize = 2;
const SEED: u64 = 42;

/// Runs the experiment, prints its tables, and returns the claims that failed.
pub(crate) fn run(options: &Options) -> Result<Vec<String>> {
    eprintln!("stale: a vault with {} superseded documents", SUPERSEDED.len());
    let innocent = corpus::documents(SERVICES, SEED).map(|document| document.text);
    if innocent.into_iter().any(|text| all_wrong().iter().any(|wrong| text.contains(wrong))) {
        return Err("a wrong sentence is in a document of the corpus, where it is right".into());
    }
    let vault = Vault::make(&options.dir.join("stale"))?;
    let asked: Vec<Asked> = asked();
    let folder = files_below(&vault.root)?;
    let live: Vec<&File> = folder.iter().filter(|file| !file.is_stored()).collect();
    let folder: Vec<&File> = folder.iter().collect();
    let (folder_index, live_index) = (index(&folder), index(&live));

    let mut arms = vec![Arm::new("`ctx resolve SELECTOR`", true)];
    for asked in &asked {
        arms[0].count(asked, &vault.resolve(&asked.document.selector(), None)?);
    }
    for k in [3, 5] {
        let mut search = Arm::new(&format!("`ctx search WORDS`, {k} documents"), true);
        let mut clean = Arm::new(&format!("BM25 over the live files, {k} files"), false);
        let mut leaky = Arm::new(&format!("BM25 over the raw folder, {k} files"), false);
        for asked in &asked {
            search.count(asked, &vault.search(asked.fact.ask, k)?);
            clean.count(asked, &texts(&live, &live_index.best(asked.fact.ask, k)));
            leaky.count(asked, &texts(&folder, &folder_index.best(asked.fact.ask, k)));
        }
        arms.extend([search, clean, leaky]);
    }

    let mut table = String::new();
    head(
        &mut table,
        "arm | queries | with the current fact | with a sentence that contradicts it \
         | with that alone | with any wrong sentence | mean tokens",
    );
    let mut broken = Vec::new();
    for arm in &arms {
        row(&mut table, &arm.cells());
        if arm.governed && arm.wrong > 0 {
            broken.push(format!("{} handed out a wrong text {} times", arm.name, arm.wrong));
        }
    }
    if arms[0].current < asked.len() {
        broken.push("the selector missed a current fact".to_owned());
    }
    if !arms.iter().any(|arm| !arm.governed && arm.wrong > 0) {
        broken.push("no arm was attacked, which shows nothing".to_owned());
    }
    println!("{table}");
    broken.extend(never_returned(&vault, &asked)?);
    broken.extend(returned_as_of_then(&vault, &asked)?);
    Ok(broken)
}

/// A query: one fact of one document.
struct Asked {
    document: &'static Superseded,
    fact: &'static Fact,
    /// The sentences that contradict the fact.
    wrong: Vec<&'static str>,
}

fn asked() -> Vec<Asked> {
    let mut asked = Vec::new();
    for (d, document) in SUPERSEDED.iter().enumerate() {
        for (f, fact) in document.facts.iter().enumerate() {
            let planted = PLANTED.iter().flat_map(|planted| planted.says);
            let planted = planted.filter(|(at, fact, _)| (*at, *fact) == (d, f));
            let wrong = [fact.was].into_iter().chain(planted.map(|(_, _, line)| *line)).collect();
            asked.push(Asked { document, fact, wrong });
        }
    }
    asked
}

/// Returns every sentence that must not be returned.
fn all_wrong() -> Vec<&'static str> {
    let was = SUPERSEDED.iter().flat_map(|document| &document.facts).map(|fact| fact.was);
    was.chain(PLANTED.iter().flat_map(|planted| planted.says).map(|(_, _, line)| *line)).collect()
}

struct Vault {
    root: PathBuf,
    cache: PathBuf,
    /// The last checkpoint before the six documents were superseded.
    before: u64,
}

impl Vault {
    /// Publishes the old versions, supersedes them, and adds the planted texts.
    fn make(root: &Path) -> Result<Self> {
        let documents = corpus::write(root, SERVICES, SEED)? + SUPERSEDED.len();
        eprintln!("stale: {documents} documents");
        let write = |id: &str, text: &str| -> Result<()> {
            let path = root.join(format!("{id}.md"));
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            Ok(fs::write(path, text)?)
        };
        for document in &SUPERSEDED {
            write(document.id, &document.text(|fact| fact.was))?;
        }
        let retired: Vec<_> =
            PLANTED.iter().filter(|planted| planted.how == How::Retired).collect();
        for planted in &retired {
            write(planted.id, &planted.text())?;
        }
        let cache = root.with_file_name("cache-stale");
        let mut vault = Self { root: root.to_owned(), cache, before: 0 };
        vault.ask(&["init", ".", "--name", "Handbook"])?;
        vault.ask(&["publish", "--all", "--drafts", "--no-sync"])?;
        for planted in &retired {
            vault.ask(&["retire", planted.id])?;
        }
        let log = vault.json(&["checkpoint", "list", "--json"])?;
        let numbers = log["checkpoints"].as_array().into_iter().flatten();
        let numbers = numbers.filter_map(|checkpoint| checkpoint["checkpoint"].as_u64());
        vault.before = numbers.max().ok_or("no checkpoint")?;
        for document in &SUPERSEDED {
            // The fields that publishing wrote into the frontmatter stay, as under an editor.
            let path = root.join(format!("{}.md", document.id));
            let mut text = fs::read_to_string(&path)?;
            for fact in &document.facts {
                text = text.replace(fact.was, fact.is);
            }
            fs::write(path, text)?;
            vault.ask(&["publish", document.id, "--no-sync"])?;
        }
        for planted in &PLANTED {
            match planted.how {
                How::Retired => {}
                How::Edit => {
                    let text = fs::read_to_string(root.join(format!("{}.md", planted.id)))?;
                    write(planted.id, &(text + &planted.lines()))?;
                }
                How::Draft | How::Planted => write(planted.id, &planted.text())?,
            }
        }
        Ok(vault)
    }

    fn ask(&self, args: &[&str]) -> Result<String> {
        output(command(&self.root, args).env("XDG_CACHE_HOME", &self.cache))
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.ask(args)?)?)
    }

    fn resolve(&self, selector: &str, at: Option<u64>) -> Result<String> {
        let at = at.map(|at| format!("--at={at}"));
        let args = ["resolve", selector, "--bodies", "--no-instructions"];
        let args: Vec<&str> = args.into_iter().chain(at.as_deref()).collect();
        let mut command = command(&self.root, &args);
        let done = command.env("XDG_CACHE_HOME", &self.cache).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        // A lone URI of an unpublished document is refused.
        match done.status.code() {
            Some(1) if done.stdout.is_empty() && said.contains("error[unknown-id]") => {
                Ok(String::new())
            }
            Some(0) => Ok(String::from_utf8(done.stdout)?),
            _ => Err(format!("resolve {selector}: {}\n{said}", done.status).into()),
        }
    }

    /// Returns the whole documents of the best hits, each document once.
    fn search(&self, words: &str, k: usize) -> Result<String> {
        let found = self.json(&["search", words, "--limit", "200", "--json"])?;
        let mut ids: Vec<&str> = Vec::new();
        for id in
            found["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["id"].as_str())
        {
            if ids.len() < k && !ids.contains(&id) {
                ids.push(id);
            }
        }
        let uris: Vec<String> = ids.iter().map(|id| format!("contextnest://{id}")).collect();
        if uris.is_empty() { Ok(String::new()) } else { self.resolve(&uris.join(" | "), None) }
    }
}

/// A way of finding text, and its results.
struct Arm {
    name: String,
    /// True if it claims to return only published and current texts.
    governed: bool,
    queries: usize,
    current: usize,
    contradicted: usize,
    /// Contradicted answers without the current fact.
    misled: usize,
    wrong: usize,
    tokens: usize,
}

impl Arm {
    fn new(name: &str, governed: bool) -> Self {
        let (name, queries, current, contradicted) = (name.to_owned(), 0, 0, 0);
        Self { name, governed, queries, current, contradicted, misled: 0, wrong: 0, tokens: 0 }
    }

    fn count(&mut self, asked: &Asked, text: &str) {
        let holds = |sentences: &[&str]| sentences.iter().any(|sentence| text.contains(sentence));
        self.queries += 1;
        let (current, contradicted) = (text.contains(asked.fact.is), holds(&asked.wrong));
        self.current += usize::from(current);
        self.contradicted += usize::from(contradicted);
        self.misled += usize::from(contradicted && !current);
        self.wrong += usize::from(holds(&all_wrong()));
        self.tokens += text.len().div_ceil(4);
    }

    fn cells(&self) -> Vec<String> {
        let Self { name, queries, current, contradicted, misled, wrong, tokens, .. } = self;
        let mean = format!("{:.0}", *tokens as f64 / *queries as f64);
        let counts = [queries, current, contradicted, misled, wrong].map(ToString::to_string);
        [&[name.clone()][..], &counts, &[mean]].concat()
    }
}

/// Asks for every wrong sentence, in every possible way, and returns the answers that contain one.
fn never_returned(vault: &Vault, asked: &[Asked]) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    let mut answers = 0;
    let mut check = |what: &str, text: &str| {
        answers += 1;
        for wrong in all_wrong().iter().filter(|wrong| text.contains(**wrong)) {
            broken.push(format!("{what} returned `{wrong}`"));
        }
    };
    let planted = PLANTED.iter().filter(|planted| planted.how != How::Edit);
    let ids = SUPERSEDED.iter().map(|d| d.id).chain(planted.map(|planted| planted.id));
    let uris = ids.map(|id| format!("contextnest://{id}"));
    let tags = ["runbook", "standard", "adr", "company"].map(|tag| format!("#{tag}"));
    let more = ["status:published", "contextnest://nodes/", "status:draft"].map(str::to_owned);
    for selector in uris.chain(tags).chain(more) {
        check(&selector, &vault.resolve(&selector, None)?);
    }
    for wrong in all_wrong() {
        let phrase = format!("\"{wrong}\"");
        // JSON is not used, because it repeats the query.
        check(&format!("search {phrase}"), &vault.ask(&["search", &phrase, "--limit", "200"])?);
        check(&format!("search {wrong}"), &vault.ask(&["search", wrong, "--limit", "200"])?);
    }
    for asked in asked {
        let found = vault.ask(&["search", asked.fact.ask, "--limit", "200"])?;
        check(asked.fact.ask, &found);
    }
    println!(
        "Selectors, URIs and searches that ask for the wrong texts themselves: {answers} answers, \
         {} wrong sentences in them.\n",
        broken.len()
    );
    Ok(broken)
}

/// Checks that the checkpoint before returns every old fact and no later one.
fn returned_as_of_then(vault: &Vault, asked: &[Asked]) -> Result<Vec<String>> {
    let mut table = String::new();
    head(&mut table, "way | queries | what was current then | what came later");
    let mut broken = Vec::new();
    for way in ["`resolve SELECTOR --at N`", "`resolve URI@N`"] {
        let (mut then, mut later) = (0, 0);
        for asked in asked {
            let text = if way.contains("--at") {
                vault.resolve(&asked.document.selector(), Some(vault.before))?
            } else {
                let id = asked.document.id;
                vault.resolve(&format!("contextnest://{id}@{}", vault.before), None)?
            };
            then += usize::from(text.contains(asked.fact.was));
            later += usize::from(asked.document.facts.iter().any(|fact| text.contains(fact.is)));
        }
        if then < asked.len() || later > 0 {
            broken.push(format!("{way} gave {then} old facts and {later} later ones"));
        }
        let counts = [asked.len(), then, later].map(|count| count.to_string());
        row(&mut table, &[&[way.to_owned()][..], &counts].concat());
    }
    println!("{table}");
    Ok(broken)
}

/// A file of the folder, as a pipeline without knowledge of vaults reads it.
struct File {
    path: PathBuf,
    text: String,
}

impl File {
    /// Returns true if the file belongs to the histories or the settings of the vault.
    fn is_stored(&self) -> bool {
        self.path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
    }
}

/// Returns every Markdown and YAML file in a folder, in the order of relative paths.
fn files_below(root: &Path) -> Result<Vec<File>> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_text = path.extension().is_some_and(|e| e == "md" || e == "yaml");
            if path.is_dir() {
                folders.push(path);
            } else if is_text {
                let text = fs::read_to_string(&path)?;
                found.push(File { path: path.strip_prefix(root)?.to_owned(), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn index(files: &[&File]) -> Bm25 {
    Bm25::of(files.iter().map(|file| file.text.as_str()))
}

fn texts(files: &[&File], best: &[usize]) -> String {
    best.iter().map(|at| files[*at].text.as_str()).collect()
}
