/** A request with its bodies, and the messages of a WebSocket; main has recorded them, and is scripted. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { detailView } from '../../desktop/client/inspector/decode-body.ts';
import type {
  RecordedMessage,
  RequestDetail,
  RequestSummary,
  SocketMessage,
} from '../../desktop/client/inspector/records.ts';
import { exampleDetail, exampleRequest } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { logOf, scripted, SHOP } from './gallery/scripted.ts';
import { assertReadable, colorOf } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import type { ScriptedHandlers, ScriptedMain } from './support/scripted-main.ts';
import { reads } from './support/visit.ts';

const TEXT = { 'Content-Type': 'text/plain' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
const tabsOf = (part: Locator) => part.getByRole('tab').allInnerTexts();
const answer = (page: Page) => page.getByRole('region', { name: 'Response', exact: true });

/** @param isTruncated whether the rest of the body was not recorded */
function message(
  fields: Readonly<Record<string, string>>,
  body: string | Buffer,
  isTruncated = false,
): RecordedMessage {
  return {
    startLine: 'HTTP/1.1 200 OK',
    fields: Object.entries(fields),
    body: Uint8Array.from(Buffer.from(body)),
    isTruncated,
  };
}

describe('one request in full', () => {
  const scope = testScope();

  /** Opens the window on these requests. */
  async function open(
    recent: readonly RequestSummary[],
    detailOf: (request: RequestSummary) => RequestDetail,
    handlers: ScriptedHandlers = {},
  ) {
    const details: ScriptedHandlers = {
      'log:detail'({ id }) {
        const request = recent.find((each) => each.id === id);
        assert.ok(request);
        return detailView(detailOf(request));
      },
    };
    const main: ScriptedMain = scripted(
      { tunnels: [SHOP] },
      {
        'log:changes': logOf(recent),
        'settings:change': (changes) =>
          void main.show({ settings: { ...main.snapshot.settings, ...changes } }),
        ...details,
        ...handlers,
      },
    )();
    const page = await openScripted(scope, main, { reducedMotion: 'reduce' });
    await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
    const copied = () =>
      main.calls
        .filter(({ channel }) => channel === 'text:copy')
        .map(({ payload }) => (payload as { text: string }).text);
    return { page, copied };
  }

  /** The same with responses that have these bodies, by path. */
  async function openRequest(
    bodies: Readonly<
      Record<string, readonly [fields: Record<string, string>, body: string | Buffer, isTruncated?: boolean]>
    >,
  ) {
    const recent = Object.keys(bodies).map((target, index) => exampleRequest({ id: index + 1, target }));
    const { page, copied } = await open(recent, (request) => {
      const [fields, body, isTruncated] = bodies[request.target] ?? [{}, ''];
      return exampleDetail({ ...request, response: message(fields, body, isTruncated) });
    });
    const show = async (path: string): Promise<void> => {
      await page.getByRole('button', { name: `GET ${path} 200` }).click();
      await answer(page).waitFor();
    };
    return { page, copied, show };
  }

  it('shows the beginning of a body of ten megabytes, searches it, and says how long it is', async () => {
    const list = Array.from({ length: 100_000 }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'] }));
    const body = JSON.stringify(list).padEnd(10_000_000);
    const { page, show } = await openRequest({
      '/json': [JSON_TYPE, body],
      '/gzip': [{ ...JSON_TYPE, 'Content-Encoding': 'gzip' }, gzipSync(body)],
      '/text': [{}, 'one line of many\n'.repeat(600_000)],
    });
    for (const [path, note] of [
      ['/json', /^1 MiB\. Start of 9\.5 MiB; an export as HAR has all of it$/],
      ['/gzip', /^[\d.]+ [KM]iB\. Start of a longer body\. Decompressed \(gzip\)$/],
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
    const { page, copied, show } = await openRequest({ '/json': [JSON_TYPE, json] });
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
    await eventually(20_000, () =>
      assert.deepEqual(copied(), ["$.cart[0]['it\\'s']", 'café', '12345678901234567890']),
    );
    await assertReadable(page, 'a tree');
    const body = answer(page).getByRole('region', { name: 'Response body' });
    for (const [way, text] of [
      ['Pretty', /^\{\n {2}"big": 12345678901234567890,\n/],
      ['Text', /^\{"big":/],
      ['Hex', /^000000 {2}7b 22 62/],
    ] as const) {
      await answer(page).getByRole('button', { name: way, exact: true }).click();
      await reads(body, text);
    }
  });

  it('offers no replay if its body was not recorded in full, by a button that looks disabled', async () => {
    const large = exampleRequest({ method: 'POST', target: '/large' });
    const { page } = await open([large], () =>
      exampleDetail({ ...large, request: message(TEXT, 'x', true), response: message(TEXT, '') }),
    );
    await page.getByRole('button', { name: 'POST /large 200' }).click();
    await page.getByText("Only the start of this request's body was recorded").waitFor();
    assert.equal(await page.getByRole('button', { name: 'Replay', exact: true }).isDisabled(), true);
    const background = (selector: string) => colorOf(page, selector, 'backgroundColor');
    assert.equal(await background('#replay-request'), await background('#edit-request'));
  });

  it('tells why Culvert answered instead of the server, and folds the page that it sent', async () => {
    const failed = exampleRequest({ target: '/die', status: 502 });
    const fields = { 'Content-Type': 'text/plain', 'Culvert-Error': 'local-reset' };
    const { page } = await open([failed], () =>
      exampleDetail({ ...failed, response: message(fields, 'the page of Culvert') }),
    );
    await page.getByRole('button', { name: 'GET /die 502' }).click();
    await page.getByText('Your server closed the connection without answering.').waitFor();
    await page.getByRole('button', { name: 'Diagnose shop-demo' }).waitFor();
    assert.equal(await page.getByText('the page of Culvert').count(), 0);
    await page.getByRole('button', { name: 'What the visitor saw' }).click();
    await page.getByText('the page of Culvert').waitFor();
  });

  it('shows large, deep and hostile JSON in parts', async () => {
    const long = JSON.stringify({ list: Array.from({ length: 250 }, (_, n) => n), text: 'x'.repeat(5000) });
    const hostile = JSON.stringify({ '<img src=x onerror=alert(1)>': '\u202egpj.exe', __proto__: null });
    const { page, show } = await openRequest({
      '/long': [JSON_TYPE, long],
      '/deep': [JSON_TYPE, '['.repeat(30_000) + ']'.repeat(30_000)],
      '/hostile': [JSON_TYPE, hostile],
      '/cut': [JSON_TYPE, JSON.stringify(Array.from({ length: 9000 }, () => 'abc')).slice(0, -100), true],
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
        JSON.stringify({
          a: { b: { mug: 1 } },
          list: Array.from({ length: 150 }, (_, n) => ({ n })),
          Mug: 'a MUG',
        }),
      ],
      '/text': [TEXT, `one mug\n${'line\n'.repeat(500)}two Mugs`],
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
    const { page, show } = await openRequest({ '/': [TEXT, text] });
    await show('/');
    await answer(page).getByRole('region', { name: 'Response body' }).waitFor();
    for (const isWrapped of [true, false]) {
      const wrap = answer(page).getByRole('button', { name: 'Wrap', pressed: isWrapped });
      await wrap.waitFor();
      await page.evaluate(SELECT_ALL);
      await page.keyboard.press('ControlOrMeta+c');
      await eventually(20_000, async () => assert.equal(await page.evaluate('globalThis.copiedText'), text));
      await page.keyboard.press('Control+f');
      await page.keyboard.type('heron');
      await answer(page).getByRole('search').getByText('1 of 1').waitFor();
      await eventually(20_000, async () => assert.equal(await page.evaluate(IS_MARK_IN_VIEW), true));
      await page.keyboard.press('Escape');
      if (isWrapped) await wrap.click();
    }
  });

  it('keeps its scroll position while more of the response arrives', async () => {
    let body = 'one\n';
    const live = exampleRequest({ method: 'POST', target: '/live', durationMs: undefined });
    const { page } = await open([live], () =>
      exampleDetail({
        ...live,
        request: message(JSON_TYPE, '{"mug":1,"other":"mug"}'),
        response: message(TEXT, body),
      }),
    );
    await page.getByRole('button', { name: 'POST /live 200' }).click();
    const request = page.getByRole('region', { name: 'Request', exact: true });
    await request.getByRole('button', { name: 'Find' }).click();
    await request.getByRole('searchbox').fill('mug');
    await request.getByText('1 of 2').waitFor();
    await page.keyboard.press('Enter');
    await request.getByText('2 of 2').waitFor();
    body += 'two\n';
    await answer(page).getByText('two').waitFor();
    // All effects have happened two frames later.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    assert.equal(await request.getByText('2 of 2').count(), 1);
  });

  it('wraps long lines or not, and remembers that', async () => {
    const { page, show } = await openRequest({
      '/long': [TEXT, 'word '.repeat(500)],
      '/other': [TEXT, 'x'.repeat(3000)],
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
    const { page, copied, show } = await openRequest({
      '/': [{ 'x-first': 'caf\u00e9', 'x-second': 'two' }, 'x'],
    });
    await show('/');
    await answer(page).getByRole('tab', { name: 'Headers 2' }).click();
    const table = answer(page).getByRole('table', { name: 'Headers' });
    await table.getByRole('row', { name: 'x-second two' }).hover();
    await table.getByRole('button', { name: 'Copy the value of x-second' }).click();
    await answer(page).getByRole('button', { name: 'Copy the response headers' }).click();
    await eventually(20_000, () =>
      assert.deepEqual(copied(), ['two', 'x-first: caf\u00e9\nx-second: two\n']),
    );
  });

  it('has a tab for each part of a message that is there, for the keyboard, and keeps to the chosen one', async () => {
    const fields = { Host: 'x', Cookie: 'sid=[redacted]; theme=dark', 'Content-Type': 'application/json' };
    const recent = ['/a?q=caf%C3%A9&q=%zz', '/b'].map((target, id) => exampleRequest({ id: id + 1, target }));
    const { page, copied } = await open(recent, (request) =>
      exampleDetail({
        ...request,
        request: { ...message(fields, '{"é":1}'), startLine: `GET ${request.target} HTTP/1.1` },
        response: message(request.id === 1 ? { 'Set-Cookie': 'sid=[redacted]; Path=/' } : {}, ''),
      }),
    );
    const request = page.getByRole('region', { name: 'Request', exact: true });
    const rows = request.getByRole('row');
    await page.getByRole('button', { name: /GET .a.q=/ }).click();
    await request.getByRole('tab', { name: 'Request', selected: true }).waitFor();
    assert.deepEqual(await tabsOf(request), ['Request', 'Query 2', 'Headers 3', 'Cookies 2', 'Raw']);
    // Without a body, the headers are the first thing to see.
    await answer(page).getByRole('tab', { name: 'Headers 1', selected: true }).waitFor();
    assert.deepEqual(await tabsOf(answer(page)), ['Response', 'Headers 1', 'Cookies 1', 'Raw']);
    await request.getByRole('tab', { name: 'Request' }).focus();
    for (const [key, tab, texts] of [
      ['ArrowRight', 'Query 2', ['q café', 'q %zz']],
      ['End', 'Raw', []],
      ['ArrowLeft', 'Cookies 2', ['sid [redacted]', 'theme dark']],
      ['Home', 'Request', []],
      ['ArrowLeft', 'Raw', []],
    ] as const) {
      await page.keyboard.press(key);
      const chosen = request.getByRole('tab', { name: tab, selected: true });
      await chosen.and(page.locator(':focus')).waitFor();
      await request.getByRole('tabpanel', { name: tab }).waitFor();
      assert.deepEqual(plain(await rows.allInnerTexts()), texts);
    }
    await assertReadable(page, 'tabs');
    await request.getByRole('button', { name: 'Copy the raw request' }).click();
    const raw = `GET /a?q=caf%C3%A9&q=%zz HTTP/1.1\r\nHost: x\r\nCookie: ${fields.Cookie}\r\nContent-Type: application/json\r\n\r\n{"é":1}`;
    await eventually(20_000, () => assert.deepEqual(copied(), [raw]));
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /GET .b 200/ }).click();
    await request.getByRole('tab', { name: 'Raw', selected: true }).waitFor();
    assert.deepEqual(await tabsOf(request), ['Request', 'Headers 3', 'Cookies 2', 'Raw']);
    assert.deepEqual(await tabsOf(answer(page)), ['Response', 'Raw']);
  });

  it('lists the first and the last tries of a visit, and all of them on demand', async () => {
    const tries = Array.from({ length: 24 }, (_, at) =>
      exampleRequest({ id: at + 1, status: 500 + at, ...(at > 0 && { replayOf: 1 }) }),
    );
    const { page } = await open(tries.toReversed(), (request) => exampleDetail(request), {
      'log:detail': ({ id }) => ({ ...exampleDetail(tries[id - 1]), tries }),
    });
    await page.getByRole('button', { name: /GET . 523 .*24 tries: …, 519, 520, 521, 522, 523$/ }).click();
    const listed = page.getByRole('group', { name: 'Tries' }).getByRole('button');
    await page.getByRole('heading', { name: 'GET /', exact: true }).waitFor();
    const states = async () => (await listed.allInnerTexts()).map((text) => text.slice(0, 3));
    assert.deepEqual(await states(), ['500', '520', '521', '522', '523']);
    await page.getByRole('button', { name: '19 more' }).click();
    assert.equal((await states()).length, 24);
    await page.locator('#try-24[aria-pressed=true]:focus').waitFor();
    await listed.nth(7).click();
    await page.locator('#try-8[aria-pressed=true]:focus').waitFor();
    assert.deepEqual(await states(), ['500', '507', '520', '521', '522', '523']);
  });

  it('lists the messages of a WebSocket one by one, with a filter and each in full', async () => {
    const messages: SocketMessage[] = [];
    const come = (isFromVisitor: boolean, kind: 'text' | 'binary', text: string): void => {
      const id = messages.length + 1;
      const body = Uint8Array.from(Buffer.from(text, 'latin1'));
      const common = { form: 'compressed', isCut: false, size: body.length - 1 } as const;
      messages.push({ ...common, id, atMs: 180 * id, isFromVisitor, kind, body });
    };
    const speak = (text: string): void => {
      come(true, 'text', text);
      come(false, 'text', `{"price":${text.length},"currency":"EUR"}`);
      come(false, 'binary', '\0\u0001\u00fe\u00ff');
    };
    speak('subscribe to prices');
    const counts = { kind: 'websocket', fromVisitor: 1, fromService: 2, control: 0 } as const;
    const socket = exampleRequest({ target: '/live', status: 101, durationMs: undefined, messages: counts });
    const { page } = await open([socket], () => exampleDetail({ ...socket, response: message({}, '') }), {
      'log:messages': ({ after = 0 }) => ({
        count: messages.length,
        oldest: 1,
        messages: messages.filter(({ id }) => id > after),
        problem: undefined,
      }),
    });
    await page
      .getByRole('button', { name: /^WS \/live 1 message from the visitor, 2 from your server 101 open/ })
      .click();
    const list = page.getByRole('list', { name: 'Messages' });
    const rows = list.getByRole('button');
    await eventually(20_000, async () => {
      const texts = await rows.allInnerTexts();
      assert.equal(texts.length, 3);
      assert.match(texts[0] ?? '', /from your server.*binary 00 01 fe ff.*\d\d\.\d{3}/s);
      assert.match(texts[1] ?? '', /from your server.*\{"price":19,"currency":"EUR"\}/s);
      assert.match(texts[2] ?? '', /from the visitor.*subscribe to prices/s);
    });

    // New ones appear while it is open.
    speak('!');
    await eventually(20_000, async () => assert.equal(await rows.count(), 6));
    await page.getByLabel('Filter messages').fill('price eur');
    await eventually(20_000, async () => assert.equal(await rows.count(), 2));
    await rows.first().click();
    await page.getByText(/Message 5, from your server, text, .* \(compressed to /).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.getByText(/Message 2, from your server/).waitFor();
    await page.getByRole('button', { name: 'Hex', exact: true }).click();
    await page.getByText('7b 22 70 72', { exact: false }).waitFor();
    await page.getByLabel('Filter messages').fill('');
    await page.getByRole('button', { name: 'Visitor', exact: true }).click();
    await eventually(20_000, async () => assert.equal(await rows.count(), 2));
  });
});

/** Selects the last text, and stores what is then copied. */
const SELECT_ALL = `{
  globalThis.copiedText = undefined;
  addEventListener('copy', (event) => (copiedText = event.clipboardData.getData('text/plain')), { once: true });
  getSelection().selectAllChildren([...document.querySelectorAll('pre.body')].at(-1));
}`;

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
