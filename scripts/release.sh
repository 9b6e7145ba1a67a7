#!/usr/bin/env bash
# Freezes the version in Cargo.toml: from here on its installation script, and the upgrade script that
# leads to it, are what somebody's database was made by, and make test-upgrade refuses any change of them.
#
#   scripts/release.sh          after make test; then commit, and tag
#
# The next change of sql/ or of a function then begins with a new version in Cargo.toml and an upgrade
# script sql/pg_claims--THIS--NEXT.sql.
source "$(dirname "$0")/common.sh"
require_postgres
cd "$HOUSE"

version=$(cargo_toml version)
frozen=tests/upgrade/released/$NAME--$version.sql
[[ ! -e $frozen ]] || die "$version is released already" "give Cargo.toml the next version"
grep -qF "## [$version]" CHANGELOG.md || die "CHANGELOG.md has no section [$version]"
scripts/build.sh
cp "$(package_dir "")$SHAREDIR/extension/$NAME--$version.sql" "$frozen"
sha256sum "$frozen" sql/$NAME--*--"$version".sql >>tests/upgrade/released.sha256
say "$version is frozen: commit tests/upgrade/, and tag v$version"
