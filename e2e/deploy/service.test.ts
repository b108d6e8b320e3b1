import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_VARIABLES } from '../../shared/version.ts';
import { ALL_SETTINGS } from '../../server/settings.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const DEPLOY = new URL('../../server/deploy/', import.meta.url);
const UNIT = 'culvert-relay.service';
const TEMPLATE = 'culvert-relay@.service';
const BACKUP = 'culvert-backup.service';
const OPERATING_PAGES = readdirSync(new URL('../../docs/operating/', DEPLOY)).map(
  (page) => `../../docs/operating/${page}`,
);

describe('server/deploy', () => {
  const scope = suiteScope();

  for (const file of [
    UNIT,
    TEMPLATE,
    BACKUP,
    'relay',
    'Dockerfile',
    'nginx.conf',
    'nginx-cluster.conf',
    'Caddyfile',
    'haproxy.cfg',
    'haproxy-tcp.cfg',
    '../../docs/start/your-own-relay.md',
    ...OPERATING_PAGES,
  ]) {
    it(`${file} names only settings that exist`, () => {
      const names = readFileSync(new URL(file, DEPLOY), 'utf8').match(/CULVERT_[A-Z0-9_]+/g) ?? [];
      const known = new Set([...CLIENT_VARIABLES, ...ALL_SETTINGS.map(({ variable }) => variable)]);
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
      );
    });
  }

  for (const unit of [UNIT, TEMPLATE, BACKUP]) {
    it(`${unit} is valid for systemd, and denies the relay what it does not need`, () => {
      const path = join(temporaryDirectory(scope), unit);
      // systemd checks that the program exists.
      writeFileSync(
        path,
        readFileSync(new URL(unit, DEPLOY), 'utf8').replaceAll('/usr/local/bin/culvert-relay', '/bin/true'),
      );
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
      assert.deepEqual([status, stderr.includes(unit)], [0, false], stderr);
      // In tenths of systemd's exposure score, where 10 is an unrestricted service. Above 2 this fails.
      execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', path], {
        stdio: 'pipe',
      });
    });
  }

  for (const unit of [UNIT, TEMPLATE]) {
    it(`${unit} writes no core dumps, which would contain keys`, () => {
      assert.match(readFileSync(new URL(unit, DEPLOY), 'utf8'), /^LimitCORE=0$/m);
    });
  }

  it(`${TEMPLATE} grants the relay no more rights than ${UNIT}`, () => {
    const [unit, template] = [UNIT, TEMPLATE].map((file) => {
      const text = readFileSync(new URL(file, DEPLOY), 'utf8');
      return text.slice(text.indexOf('UMask='));
    });
    assert.equal(template, unit);
  });
});
