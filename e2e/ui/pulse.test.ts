import assert from 'node:assert/strict';
import { startHttpService } from '../support/services/listen.ts';
import { card, expose, scenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { visit } from './support/visit.ts';

scenarios('the sparkline of a tunnel', (fixture) => {
  it('shows the requests of the last minute, and in words how many failed', async () => {
    const { page, app } = await fixture.openSignedIn();
    const service = await startHttpService(fixture.scope, (request, response) => {
      response.statusCode = request.url === '/missing' ? 404 : request.url === '/broken' ? 500 : 200;
      response.end();
    });
    const slug = await expose(page, service.port);
    const pulse = card(page, slug).getByRole('img', { name: 'in the last minute' });
    assert.equal(await pulse.count(), 0);
    const { url } = await app.tunnel();
    await visit(url);
    await card(page, slug).getByRole('img', { name: '1 request in the last minute, none failed' }).waitFor();
    await visit(`${url}/missing`);
    await card(page, slug).getByRole('img', { name: '2 requests in the last minute, 1 failed' }).waitFor();
    // A missing page is amber; red means that the server failed.
    assert.notEqual(await pulse.locator('.pulse-refused').getAttribute('d'), '');
    assert.equal(await pulse.locator('.pulse-errors').getAttribute('d'), '');
    await visit(`${url}/broken`);
    await card(page, slug).getByRole('img', { name: '3 requests in the last minute, 2 failed' }).waitFor();
    assert.notEqual(await pulse.locator('.pulse-errors').getAttribute('d'), '');
    await assertReadable(page, 'pulse');
  });
});
