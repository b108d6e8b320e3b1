/** A Debian system that has never heard of Node. Needs root, and Debian's package `debootstrap`. */
import { join } from 'node:path';
import { Child } from './child.ts';
import { temporaryDirectory } from './programs.ts';
import { runScope } from './scope.ts';

const VERSION = 'bookworm';
/** What is on most machines beside the packages that every Debian has. */
const PACKAGES = 'systemd,curl,ca-certificates';
const MAKE_MS = 600_000;

let made: Promise<string> | undefined;

/** @returns the folder of its files, made once in a run, which takes half a minute; do not change them */
export function emptySystem(): Promise<string> {
  return (made ??= make());
}

async function make(): Promise<string> {
  const folder = join(temporaryDirectory(runScope), 'system');
  const begun = performance.now();
  const args = ['--variant=minbase', `--include=${PACKAGES}`, VERSION, folder];
  // What it mounts in the folder is never in the way of those who remove that.
  await new Child('unshare', ['--mount', '/usr/sbin/debootstrap', ...args]).finished(MAKE_MS);
  console.log(`      an empty Debian system: ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  return folder;
}
