#!/bin/sh
# Install the Debian packages named in the given lists (one per line, # starts a comment).
#
#   sh apt/install.sh apt/demo.txt apt/test.txt
#
# As root with apt-get: installs what is missing. Anywhere else: prints what is missing.
# Never fails: trocar computes without these packages, and what does need one says so itself.

packages=$(sed 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sort -u)

missing=
for package in $packages; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
missing=${missing# }
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed (Debian package names; needs root and apt-get): $missing" >&2
    exit 0
fi

echo "Installing Debian packages: $missing"
export DEBIAN_FRONTEND=noninteractive
# $missing is a list of words on purpose.
# shellcheck disable=SC2086
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null; then
    echo "apt-get could not install: $missing; continuing without" >&2
fi
exit 0
