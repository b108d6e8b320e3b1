import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios, showRequest } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { visit } from './support/visit.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const answer = (page: Page) => page.getByRole('region', { name: 'Response', exact: true });

scenarios('one request in full', (fixture) => {
  /** Opens a request to a service that answers with these bodies, by path. */
  async function openRequest(
    bodies: Readonly<Record<string, [fields: Record<string, string>, body: Buffer]>>,
  ) {
    const service = await startHttpService(fixture.scope, (request, response) => {
      const [fields, body] = bodies[request.url ?? ''] ?? [{}, Buffer.from('nothing')];
      response.writeHead(200, fields);
      response.end(body);
    });
    const { page, app } = await fixture.openSignedIn();
    await expose(page, service.port);
    const address = (await app.tunnel()).url;
    const show = async (path: string): Promise<void> => {
      await visit(`${address}${path}`);
      await page.getByRole('button', { name: `GET ${path} 200` }).click();
      await answer(page).waitFor();
    };
    return { page, app, show };
  }

  it('shows the beginning of a body of ten megabytes, searches it, and says how long it is', async () => {
    const list = Array.from({ length: 100_000 }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'] }));
    const body = Buffer.from(JSON.stringify(list).padEnd(10_000_000));
    const { page, show } = await openRequest({
      '/json': [JSON_TYPE, body],
      '/gzip': [{ ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(body)],
      '/text': [{}, Buffer.from('one line of many\n'.repeat(600_000))],
    });
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.locator('#kept-body').selectOption('10 MiB');
    await page.getByRole('button', { name: 'Back' }).click();
    for (const [path, note] of [
      ['/json', /^1\.0 MB\. Start of 10\.0 MB; an export as HAR has all of it$/],
      ['/gzip', /^[\d.]+ [kM]B\. Start of a longer body\. Decompressed \(gzip\)$/],
    ] as const) {
      await show(path);
      await answer(page).getByText(note).waitFor();
      await answer(page).getByText('The rest is not shown.').waitFor();
      await page.keyboard.press('Control+f');
      await page.keyboard.type('item 5432');
      await answer(page).getByText('1 of 1').waitFor();
      await answer(page).getByRole('treeitem', { name: '"name": "item 5432"' }).waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
    }
    await show('/text');
    const shown = answer(page).getByRole('region', { name: 'Response body' });
    await shown.hover();
    await eventually(20_000, async () => {
      // On a busy machine the text may not be there yet at the first turn of the wheel.
      await page.mouse.wheel(0, 100_000);
      assert.ok((await shown.evaluate(({ scrollTop }) => scrollTop)) > 50_000);
    });
  });

  it('shows JSON as a tree for the keyboard, and copies a value and its path', async () => {
    const json = '{"big":12345678901234567890,"a":1.0,"a":2,"cart":[{"it\'s":"caf\\u00e9"}]}';
    const { page, app, show } = await openRequest({ '/json': [JSON_TYPE, Buffer.from(json)] });
    await show('/json');
    const tree = page.getByRole('tree', { name: 'Response body as a tree' });
    const rows = tree.getByRole('treeitem');
    await rows.first().focus();
    const shown = [
      '▾ {…} 4 members',
      '"big": 12345678901234567890',
      '"a": 1.0',
      '"a": 2',
      '▾ "cart": […] 1 element',
      '▾ 0: {…} 1 member',
      `"it's": "café"`,
    ];
    await eventually(20_000, async () => assert.deepEqual(await rows.allInnerTexts().then(plain), shown));
    for (const key of ['End', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key);
    await eventually(20_000, async () => assert.equal(await rows.count(), 6));
    await tree
      .getByRole('treeitem', { name: '0: {…}', expanded: false })
      .and(page.locator(':focus'))
      .waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowRight');
    await tree.getByRole('treeitem', { name: 'café' }).and(page.locator(':focus')).waitFor();
    await page.getByText("$.cart[0]['it\\'s']").waitFor();
    await answer(page).getByRole('button', { name: 'Copy path', exact: true }).click();
    await answer(page).getByRole('button', { name: 'Copy value', exact: true }).click();
    await rows.nth(1).click();
    await page.getByText('$.big').waitFor();
    await answer(page).getByRole('button', { name: 'Copy value', exact: true }).click();
    await eventually(20_000, async () =>
      assert.deepEqual(await app.copied(), ["$.cart[0]['it\\'s']", 'café', '12345678901234567890']),
    );
    await assertReadable(page, 'a tree');
  });

  it('shows large, deep and hostile JSON in parts', async () => {
    const long = JSON.stringify({ list: Array.from({ length: 250 }, (_, n) => n), text: 'x'.repeat(5000) });
    const hostile = JSON.stringify({ '<img src=x onerror=alert(1)>': '\u202egpj.exe', __proto__: null });
    const { page, show } = await openRequest({
      '/long': [JSON_TYPE, Buffer.from(long)],
      '/deep': [JSON_TYPE, Buffer.from('['.repeat(30_000) + ']'.repeat(30_000))],
      '/hostile': [JSON_TYPE, Buffer.from(hostile)],
      '/cut': [JSON_TYPE, Buffer.from(JSON.stringify(Array.from({ length: 40_000 }, () => 'abc')))],
    });
    const item = (name: string | RegExp) => answer(page).getByRole('treeitem', { name });
    await show('/long');
    const focused = (name: string) => item(name).and(page.locator(':focus'));
    await item('"list"').click();
    // Parts far out of view are not in the page.
    assert.equal(await item('Show 100 more of 250').count(), 0);
    for (const key of ['End', 'ArrowUp']) await page.keyboard.press(key);
    await focused('Show 100 more of 250').click();
    await focused('Show 50 more of 250').click();
    await focused('200: 200').waitFor();
    for (const key of ['End', 'ArrowUp']) await page.keyboard.press(key);
    await focused('249: 249').waitFor();
    await item('show all 5,002 characters').click();
    await item('x'.repeat(5000)).waitFor();
    await page.keyboard.press('Escape');
    await show('/deep');
    await answer(page).getByRole('treeitem').last().click();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await answer(page).getByRole('treeitem').nth(41).waitFor();
    await page.keyboard.press('Escape');
    await show('/hostile');
    await item('"\\u{202e}gpj.exe"').waitFor();
    assert.equal(await page.locator('.message img').count(), 0);
    await page.keyboard.press('Escape');
    await show('/cut');
    await answer(page).getByText('The rest is not shown.').waitFor();
    await item('0: "abc"').first().waitFor();
  });

  it('finds a text in what is shown, forwards and backwards, with marks', async () => {
    const { page, show } = await openRequest({
      '/json': [
        JSON_TYPE,
        Buffer.from(
          JSON.stringify({
            a: { b: { mug: 1 } },
            list: Array.from({ length: 150 }, (_, n) => ({ n })),
            Mug: 'a MUG',
          }),
        ),
      ],
      '/text': [{ 'content-type': 'text/plain' }, Buffer.from(`one mug\n${'line\n'.repeat(500)}two Mugs`)],
    });
    await show('/text');
    await page.keyboard.press('Control+f');
    await page.keyboard.type('mug');
    const bar = answer(page).getByRole('search');
    // They disappear and return once the rest is shown.
    const marks = (count: number): Promise<void> =>
      eventually(20_000, async () =>
        assert.equal(await page.evaluate('CSS.highlights.get("found").size'), count),
      );
    await bar.getByText('1 of 2').waitFor();
    await marks(2);
    await page.keyboard.press('Enter');
    await bar.getByText('2 of 2').waitFor();
    const body = answer(page).getByRole('region', { name: 'Response body' });
    await eventually(20_000, async () => assert.ok((await body.evaluate((pre) => pre.scrollTop)) > 0));
    await page.keyboard.press('Shift+Enter');
    await bar.getByText('1 of 2').waitFor();
    await assertReadable(page, 'find');
    await page.keyboard.press('Escape');
    await answer(page).getByRole('button', { name: 'Find' }).and(page.locator(':focus')).waitFor();
    await marks(0);
    await page.keyboard.press('Escape');
    await show('/json');
    await answer(page).getByRole('treeitem').first().waitFor();
    await page.keyboard.press('Control+f');
    await page.keyboard.type('149');
    await bar.getByText('1 of 1').waitFor();
    await answer(page).getByRole('treeitem', { name: '"n": 149', selected: true }).waitFor();
    await bar.getByRole('searchbox').fill('nowhere');
    await bar.getByText('No matches').waitFor();
  });

  it('selects and finds long texts completely, although they are laid out as they scroll into view', async () => {
    // The word begins in one piece of the long line and ends in the next.
    const long = `${'x'.repeat(3997)}heron😀${'y '.repeat(4000)}`;
    const text = `${'line\n\n'.repeat(2000)}${long}\nlast`;
    const { page, show } = await openRequest({ '/': [{ 'content-type': 'text/plain' }, Buffer.from(text)] });
    await show('/');
    await answer(page).getByRole('region', { name: 'Response body' }).waitFor();
    for (const isWrapped of [true, false]) {
      const wrap = answer(page).getByRole('button', { name: 'Wrap', pressed: isWrapped });
      await wrap.waitFor();
      assert.equal(await page.evaluate<string>(SELECTED), text);
      await page.keyboard.press('Control+f');
      await page.keyboard.type('heron');
      await answer(page).getByRole('search').getByText('1 of 1').waitFor();
      await eventually(20_000, async () => assert.equal(await page.evaluate(IS_MARK_IN_VIEW), true));
      await page.keyboard.press('Escape');
      if (isWrapped) await wrap.click();
    }
  });

  it('keeps its scroll position while more of the response arrives', async () => {
    const { promise: asked, resolve: go } = Promise.withResolvers<void>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const service = await startHttpService(fixture.scope, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('one\n');
      void asked.then(() => response.write('two\n'));
      void ended.then(() => response.end());
    });
    const { page, app } = await fixture.openSignedIn();
    await expose(page, service.port);
    const visitor = visit(`${(await app.tunnel()).url}/live`, {
      method: 'POST',
      body: '{"mug":1,"other":"mug"}',
      type: 'application/json',
    });
    await page.getByRole('button', { name: 'POST /live 200' }).click();
    const request = await showRequest(page);
    await request.getByRole('button', { name: 'Find' }).click();
    await request.getByRole('searchbox').fill('mug');
    await request.getByText('1 of 2').waitFor();
    await page.keyboard.press('Enter');
    await request.getByText('2 of 2').waitFor();
    go();
    await page.locator('.message-response').getByText('two').waitFor({ state: 'attached' });
    // All effects have happened two frames later.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    assert.equal(await request.getByText('2 of 2').count(), 1);
    end();
    assert.equal((await visitor).body, 'one\ntwo\n');
  });

  it('wraps long lines or not, and remembers that', async () => {
    const { page, show } = await openRequest({
      '/long': [{ 'content-type': 'text/plain' }, Buffer.from('word '.repeat(500))],
      '/other': [{ 'content-type': 'text/plain' }, Buffer.from('x'.repeat(3000))],
    });
    const isWide = () =>
      answer(page)
        .getByRole('region', { name: 'Response body' })
        .evaluate((pre) => pre.scrollWidth > pre.clientWidth);
    await show('/long');
    assert.equal(await isWide(), false);
    await answer(page).getByRole('button', { name: 'Wrap', pressed: true }).click();
    await answer(page).getByRole('button', { name: 'Wrap', pressed: false }).waitFor();
    assert.equal(await isWide(), true);
    await page.keyboard.press('Escape');
    await show('/other');
    assert.equal(await isWide(), true);
    await answer(page).getByRole('button', { name: 'Wrap', pressed: false }).click();
    await eventually(20_000, async () => assert.equal(await isWide(), false));
  });

  it('copies one header, or all of them', async () => {
    const { page, app, show } = await openRequest({
      '/': [{ 'x-first': 'caf\u00e9', 'x-second': 'two' }, Buffer.from('x')],
    });
    await show('/');
    await answer(page)
      .getByRole('button', { name: /headers/, expanded: false })
      .click();
    const table = answer(page).getByRole('table', { name: 'Headers' });
    await table.getByRole('row', { name: 'x-second two' }).hover();
    await table.getByRole('button', { name: 'Copy the value of x-second' }).click();
    await answer(page).getByRole('button', { name: 'Copy the response headers' }).click();
    await eventually(20_000, async () => {
      const [one, all] = await app.copied();
      assert.equal(one, 'two');
      assert.match(all ?? '', /^x-first: caf.*\nx-second: two\n/);
    });
  });
});

/** Selects all of the last body that is shown, as Ctrl+C would copy it. */
const SELECTED = `(() => {
  getSelection().selectAllChildren([...document.querySelectorAll('pre.body')].at(-1));
  return String(getSelection());
})()`;

/** Whether the current search result is in view of its body. */
const IS_MARK_IN_VIEW = `(() => {
  const [mark] = CSS.highlights.get('found-current');
  if (mark === undefined) return false;
  const range = new Range();
  range.setStart(mark.startContainer, mark.startOffset);
  range.setEnd(mark.endContainer, mark.endOffset);
  const { top, bottom, left, right } = range.getBoundingClientRect();
  const room = mark.startContainer.parentElement.closest('.body').getBoundingClientRect();
  return range.toString() === 'heron' && top >= room.top && bottom <= room.bottom && left >= room.left && right <= room.right;
})()`;

function plain(texts: readonly string[]): string[] {
  return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim());
}
