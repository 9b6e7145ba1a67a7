//! Makes the end of the installation script: COMMENT ON FUNCTION for every SQL function,
//! from its doc comment in `src/`, and `sql/access.sql`. So what `\df+` shows and what
//! the source says are one text.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=sql/access.sql");
    let mut sql = String::new();
    for path in rust_files(Path::new("src"))? {
        let file = syn::parse_file(&fs::read_to_string(&path)?)?;
        for item in &file.items {
            if let syn::Item::Fn(function) = item
                && has_attribute(&function.attrs, "pg_extern")
            {
                let name = &function.sig.ident;
                let comment = doc_comment(&function.attrs);
                if comment.is_empty() {
                    return Err(format!("{}: {name} has no doc comment", path.display()).into());
                }
                writeln!(
                    sql,
                    "COMMENT ON FUNCTION @extschema@.{name} IS $comment${comment}$comment$;\n"
                )?;
            }
        }
    }
    sql.push_str(&fs::read_to_string("sql/access.sql")?);
    let target = PathBuf::from(env::var("OUT_DIR")?).join("last.rs");
    fs::write(target, format!("pgrx::extension_sql!({sql:?}, name = \"last\", finalize);\n"))?;
    Ok(())
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn has_attribute(attributes: &[syn::Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

fn doc_comment(attributes: &[syn::Attribute]) -> String {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) => {
                    let line = line.value();
                    Some(line.strip_prefix(' ').unwrap_or(&line).to_owned())
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    lines.join("\n")
}
