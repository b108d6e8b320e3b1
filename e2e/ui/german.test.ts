/** Refusals in a German window, by the window itself, by the relay, and by the engine. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { scenarios, speakGerman } from './support/fixture.ts';
import { reads } from './support/visit.ts';

scenarios('in German', (fixture) => {
  it('a refused tunnel shows the reason at the field', async () => {
    const { page } = await fixture.openSignedIn();
    const other = await createAccount(fixture.relay);
    await other.api.create({ local_port: 9, name: 'taken-in-german' });
    await speakGerman(page);
    const port = page.getByLabel('Port', { exact: true });
    await port.fill('99999');
    await page.getByRole('button', { name: 'Freigeben' }).click();
    await reads(page.locator('#port-note'), /^Geben Sie einen Port von 1 bis 65535 ein\./);
    await port.fill('3000');
    await page.getByRole('button', { name: 'Optionen' }).click();
    await page.getByLabel('Name', { exact: true }).fill('taken-in-german');
    await page.getByRole('button', { name: 'Freigeben' }).click();
    await reads(
      page.locator('#name-note'),
      /^Diesen Namen hat jetzt jemand anders\. Wählen Sie einen anderen\./,
    );
    await page.locator('#name:focus').waitFor();
  });

  it('a project shows the problems of its file, line by line', async () => {
    const { app, page } = await fixture.openSignedIn();
    const folder = temporaryDirectory(fixture.scope);
    const file = join(folder, 'culvert.yml');
    writeFileSync(
      file,
      `tunnels:
  web:
    port: 99999
    prot: 3000
  api:
    port: 4000
    idle: 1
    password: hid
    allow: 10.0.0.0/99
    auth: ['ann:\${NOT SET}']
  docs:
    share: ../others
`,
    );
    await speakGerman(page);
    await app.chooseNext(folder);
    await page.getByRole('button', { name: 'Projekt öffnen …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Dieses Projekt lässt sich nicht öffnen' });
    const words = dialog.locator('.project-problem');
    await words.waitFor();
    assert.deepEqual((await words.innerText()).replaceAll(file, 'FILE').split('\n'), [
      'FILE:3: tunnels.web.port: ist 99999; erlaubt: eine ganze Zahl von 1 bis 65535.',
      'FILE:4: tunnels.web.prot: ist unbekannt; ist port gemeint?',
      'FILE:7: tunnels.api.idle: ist 1; erlaubt: true oder false.',
      'FILE:8: tunnels.api.password: erlaubt: 4 bis 128 Zeichen.',
      'FILE:9: tunnels.api.allow: "10.0.0.0/99" geht nicht; erlaubt: eine Adresse oder ein Netz, etwa 192.0.2.7 oder 10.0.0.0/8.',
      'FILE:10: tunnels.api.auth: ${…} nimmt den Namen einer Variablen, etwa ${PASSWORD}; $${ steht für ${.',
      'FILE:12: tunnels.docs.share: ist "../others"; erlaubt: der Pfad eines Ordners im Ordner von culvert.yml, etwa ./public.',
    ]);
  });
});
