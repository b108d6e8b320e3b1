/** Checks those parts of electron-builder.yml that can only be executed on another system. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { APP_ID } from '../../desktop/app/main/deep-link.ts';
import { ROOT } from '../../release/repository.ts';

interface Target {
  target: string;
  arch: string[];
}

interface Configuration {
  appId: string;
  mac: { target: Target[]; hardenedRuntime: boolean; entitlements: string; icon: string; extendInfo: object };
  win: { target: Target[]; icon: string };
  linux: { target: Target[]; icon: string };
  publish: { provider: string };
  artifactName: string;
  electronVersion: string;
}

describe('electron-builder.yml', () => {
  const configuration = parse(readFileSync(join(ROOT, 'electron-builder.yml'), 'utf8')) as Configuration;
  const { mac, win, linux, artifactName } = configuration;

  it('is valid for electron-builder', () => {
    const schema = createRequire(import.meta.url)('app-builder-lib/scheme.json') as object;
    const validate = new Ajv({ strict: false }).compile(schema);
    // The address comes from package.json (desktop/build/build.ts).
    const publish = { ...configuration.publish, url: 'https://forge.org/updates' };
    assert.ok(validate({ ...configuration, publish }), JSON.stringify(validate.errors));
    assert.ok(!validate({ ...configuration, publish, hardenedRuntime: true }), 'the schema takes anything');
  });

  it('targets macOS, Windows and Linux', () => {
    assert.deepEqual(targets(mac.target), ['dmg universal', 'zip universal']);
    assert.equal(mac.hardenedRuntime, true);
    assert.deepEqual(mac.extendInfo, { LSUIElement: true });
    assert.deepEqual(targets(win.target), ['nsis arm64', 'nsis x64']);
    assert.deepEqual(
      targets(linux.target),
      ['AppImage', 'deb', 'rpm'].flatMap((kind) => [`${kind} arm64`, `${kind} x64`]),
    );
    // Without them one file would overwrite another.
    for (const part of ['version', 'os', 'arch', 'ext']) {
      assert.ok(artifactName.includes(`\${${part}}`), part);
    }
  });

  it("uses the app's own id", () => assert.equal(configuration.appId, APP_ID));

  it('uses the Electron that types and tests are for', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      devDependencies: { electron: string };
    };
    assert.equal(configuration.electronVersion, devDependencies.electron);
  });

  it('has icons in the format that each system expects', () => {
    const icns = readFileSync(join(ROOT, mac.icon));
    assert.equal(icns.toString('latin1', 0, 4), 'icns');
    assert.equal(icns.readUInt32BE(4), icns.length);
    const ico = readFileSync(join(ROOT, win.icon));
    assert.deepEqual([ico.readUInt16LE(0), ico.readUInt16LE(2)], [0, 1]);
    const png = readFileSync(join(ROOT, linux.icon, '512x512.png'));
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [512, 512]);
    assert.ok(readFileSync(join(ROOT, mac.entitlements), 'utf8').includes('allow-jit'));
  });
});

function targets(list: readonly Target[]): string[] {
  return list.flatMap(({ target, arch }) => arch.map((each) => `${target} ${each}`)).sort();
}
