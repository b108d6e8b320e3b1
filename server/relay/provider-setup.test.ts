import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { providerSettings } from './provider-setup.ts';

describe('the settings of the identity provider', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'culvert-provider-'));
  });

  after(() => rmSync(folder, { recursive: true }));

  function settings(secret: { clientSecret?: string; file?: string }) {
    const setting = 'CULVERT_OIDC_CLIENT_SECRET_FILE';
    return providerSettings({
      issuer: new URL('https://id.example.com'),
      clientId: 'relay',
      clientSecret: secret.clientSecret,
      clientSecretFile: secret.file === undefined ? undefined : { path: join(folder, secret.file), setting },
      name: undefined,
      scopes: 'openid',
      groupsClaim: 'groups',
      accounts: undefined,
      ttl: 60,
    });
  }

  it('have the secret itself, the content of its file, or none', async () => {
    writeFileSync(join(folder, 'secret'), ' a secret \n');
    assert.equal((await settings({ clientSecret: 'x' })).clientSecret, 'x');
    assert.equal((await settings({ file: 'secret' })).clientSecret, 'a secret');
    assert.equal((await settings({})).clientSecret, undefined);
  });

  it('name the setting whose file cannot be used', async () => {
    writeFileSync(join(folder, 'empty'), '\n');
    await assert.rejects(settings({ file: 'empty' }), /in CULVERT_OIDC_CLIENT_SECRET_FILE is empty/);
    await assert.rejects(
      settings({ file: 'missing' }),
      /in CULVERT_OIDC_CLIENT_SECRET_FILE cannot be read: ENOENT/,
    );
  });
});
