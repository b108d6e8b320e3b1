import assert from 'node:assert/strict';
import { crc32, gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { detailView } from '../../desktop/client/inspector/decode-body.ts';
import {
  exampleDetail,
  exampleRequest,
  exampleSnapshot,
  exampleTunnel,
} from '../../desktop/testing/views.ts';
import { testScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';
import { assertReadable } from './support/readable.ts';
import { openScripted } from './support/running-app.ts';
import { ScriptedMain } from './support/scripted-main.ts';

/** Messages of the policies about a page that tries to load, run or style something. */
const BLOCKED = /Content Security Policy|Unsafe attempt to load URL/;
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Elements that could run, load, navigate or take the focus. */
const ACTIVE =
  'script, link, base, iframe, object, embed, form, svg, math, template, style, dialog, [href], [onclick], [onerror], [autofocus]';
/** Colour and border of a paragraph, colour of the page, width of the picture. */
const LOOK = `(() => {
  const { color, borderTopWidth } = getComputedStyle(document.querySelector('p'));
  const { backgroundColor } = getComputedStyle(document.body);
  return [color, borderTopWidth, backgroundColor, document.querySelector('img').naturalWidth].join(' ');
})()`;

const way = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

describe('previews of bodies', () => {
  const scope = testScope();

  /** Opens a request whose response has that body. */
  async function open(type: string, body: string | Buffer, fields: [string, string][] = []): Promise<Page> {
    const recent = [exampleRequest({ target: '/body' })];
    const bytes = Uint8Array.from(Buffer.from(body as string));
    const response = {
      startLine: 'HTTP/1.1 200 OK',
      fields: [['Content-Type', type] as const, ...fields],
      body: bytes,
      isTruncated: false,
    };
    const main = new ScriptedMain(exampleSnapshot({ tunnels: [exampleTunnel({ recent })] }), {
      'log:detail': () => detailView(exampleDetail({ response })),
    });
    const page = await openScripted(scope, main, { expected: BLOCKED, isOwn: true });
    await page.getByRole('button', { name: 'GET /body' }).click();
    await page.getByRole('region', { name: 'Response body' }).waitFor();
    return page;
  }

  it('show a page as it looks', async () => {
    const html =
      '<!doctype html><body style="background: #ffe" bgcolor="red"><style>p { color: rgb(1, 2, 3) }</style>' +
      `<p style="border: 3px solid">Order <b>7</b></p><img alt="a dot, style = round" src="data:image/png;base64,${PIXEL}"></body>`;
    const page = await open('text/html', html);
    await way(page, 'Page');
    const frame = page.frameLocator('iframe');
    await frame.getByText('Order 7').waitFor();
    await frame.getByAltText('a dot, style = round').waitFor();
    const look = await page.frames().at(-1)?.evaluate<string>(LOOK);
    assert.equal(look, 'rgb(1, 2, 3) 3px rgb(255, 255, 238) 1');
    await assertReadable(page, 'a page');
  });

  it('prevent a hostile page from running, loading, connecting, navigating or taking the focus', async () => {
    const calls: string[] = [];
    const canary = await startRawService(scope, (socket) => socket.destroy());
    const page = await open('text/html', hostilePage(`http://127.0.0.1:${canary.port}`));
    const address = page.url();
    // Anything that would reach the network is also an error (openWindow).
    page.on('requestfinished', (request) => calls.push(request.url()));
    page.on('framenavigated', (frame) => calls.push(`to ${frame.url()}`));
    page.on('popup', () => calls.push('a window'));
    page.on('dialog', (dialog) => calls.push(dialog.message()));
    page.on('download', () => calls.push('a download'));
    await way(page, 'Page');
    const frame = page.frameLocator('iframe');
    await frame.getByText('the end').waitFor();
    // Clicks where the links are, and presses the key that opens them.
    const box = await page.locator('iframe').boundingBox();
    assert.ok(box);
    for (let y = 5; y < box.height; y += 12) await page.mouse.click(box.x + 20, box.y + y);
    await page.locator('iframe').focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.frames().at(-1)?.evaluate<string>('document.activeElement.localName'), 'body');
    // Anything that a page does by itself happens once it is drawn.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    assert.equal(page.url(), address);
    assert.equal(canary.accepted, 0);
    assert.equal(page.frames().length, 2);
    assert.equal(await frame.locator(ACTIVE).count(), 0);
    // Only the frame itself.
    assert.deepEqual(calls, ['to about:blank']);
    await assertReadable(page, 'a hostile page');
  });

  it('show a picture with its size and type', async () => {
    const page = await open('text/html', Buffer.from(PIXEL, 'base64'));
    await page.getByText('PNG, 1 × 1').waitFor();
    await page.getByRole('img', { name: 'PNG image' }).waitFor();
    assert.equal(await page.locator('.preview canvas').count(), 0);
    await assertReadable(page, 'a picture');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.locator('.preview canvas').waitFor();
    await page.getByRole('img', { name: 'PNG image' }).waitFor();
    assert.equal(await page.locator('.preview img').isVisible(), false);
    await assertReadable(page, 'a picture that stands still');
  });

  it('draw no picture that would exhaust the memory, and none that is broken', async () => {
    const bomb = Buffer.from(PIXEL, 'base64');
    // Width and height of the header, and a new checksum for it.
    bomb.writeUInt32BE(8000, 16);
    bomb.writeUInt32BE(8000, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    const page = await open('image/png', bomb);
    await page.getByText('too large to display here').waitFor();
    assert.equal(await page.getByRole('img', { name: 'PNG image' }).count(), 0);
    const broken = await open(
      'image/png',
      Buffer.concat([Buffer.from(PIXEL, 'base64').subarray(0, 8), Buffer.alloc(50)]),
    );
    await broken.getByText('cannot be displayed').waitFor();
  });

  it('show an SVG as a picture in which nothing runs or loads', async () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><script>alert(1)</script>' +
      '<image href="http://127.0.0.1:9/x.png" width="9" height="9"/><rect width="40" height="30" fill="teal"/></svg>';
    const page = await open('image/svg+xml', svg);
    page.on('dialog', () => assert.fail('it ran'));
    await page.getByRole('region', { name: 'Response body' }).getByText('<svg xmlns').waitFor();
    await way(page, 'Image');
    await page.getByText('SVG, 40 × 30').waitFor();
    assert.equal(await page.locator('.message svg').count(), 0);
  });

  it('show a form as a table, with the names and sizes of its files', async () => {
    const body =
      '--X\r\nContent-Disposition: form-data; name="who"\r\n\r\nZoë <img src=x onerror=alert(1)>\r\n' +
      '--X\r\nContent-Disposition: form-data; name="pic"; filename="mug.png"\r\nContent-Type: image/png\r\n\r\n\0\u0001\u0002\r\n--X--';
    const page = await open('multipart/form-data; boundary=X', gzipSync(body), [
      ['Content-Encoding', 'gzip'],
    ]);
    const table = page.getByRole('table', { name: 'Form' });
    assert.deepEqual(await table.getByRole('cell').allInnerTexts(), [
      'Zoë <img src=x onerror=alert(1)>',
      'mug.png, image/png, 3 B',
    ]);
    assert.equal(await page.locator('.message img').count(), 0);
    await assertReadable(page, 'a form');
  });

  it('hide the passwords of a form until they are asked for', async () => {
    const page = await open(
      'application/x-www-form-urlencoded',
      Buffer.from('user=ann&user%5Bpassword%5D=hunter2'),
    );
    const cells = page.getByRole('table', { name: 'Form' }).getByRole('cell');
    assert.deepEqual(await cells.allInnerTexts(), ['ann', '••••••••']);
    await page.getByRole('button', { name: 'Show passwords' }).click();
    await page.getByRole('button', { name: 'Hide passwords' }).waitFor();
    assert.deepEqual(await cells.allInnerTexts(), ['ann', 'hunter2']);
  });
});

/** Everything that a page can try, directed at an address that would notice. */
function hostilePage(to: string): string {
  const page = encodeURIComponent(`<script>fetch('${to}')</script>`);
  return `<!doctype html><html manifest="${to}/m"><head><base href="${to}/" target="_top">
    <meta http-equiv="refresh" content="0;url=${to}/refresh"><meta http-equiv="set-cookie" content="a=b">
    <meta http-equiv="content-security-policy" content="default-src *"><meta http-equiv="x-dns-prefetch-control" content="on">
    <link rel="stylesheet" href="${to}/l.css"><link rel="prefetch" href="${to}/p"><link rel="preconnect" href="${to}">
    <link rel="dns-prefetch" href="//canary.example"><link rel="preload" as="image" href="${to}/pl"><link rel="icon" href="${to}/i">
    <link rel="modulepreload" href="${to}/mp"><link rel="prerender" href="${to}/pr"><link rel="manifest" href="${to}/wm">
    <script src="${to}/s.js"></script><script>parent.location = '${to}'; alert(1)</script>
    <script type="speculationrules">{"prefetch":[{"source":"list","urls":["${to}/spec"]}]}</script>
    <style>@import url(${to}/i.css); @font-face { font-family: f; src: url(${to}/f.woff) }
      p { font-family: f; background: url(${to}/b.png); cursor: url(${to}/c.cur), auto; list-style: url(${to}/li.png) }
      p::after { content: url(${to}/after.png) } div { filter: url(${to}/x.svg#a); mask: image-set(url(${to}/mask.png) 1x) }</style>
    </head><body onload="alert(2)" background="${to}/bg.png" style="background: url(${to}/style.png)">
    <a href="${to}/a" target="_top" ping="${to}/ping">a link to the top</a> <a href="javascript:alert(3)">a script</a>
    <a href="${to}/d" download autofocus>a download</a> <a href="#x" onclick="alert(4)">a click</a>
    <p tabindex="0" autofocus onfocus="alert(5)">text</p><div>masked</div>
    <img src="${to}/img.png" srcset="${to}/set.png 2x" onerror="alert(6)"><img src="x" lowsrc="${to}/low.png">
    <picture><source srcset="${to}/source.png"><img alt="none"></picture><input type="image" src="${to}/input.png">
    <iframe src="${to}/frame"></iframe><iframe srcdoc="<script>top.location='${to}'</script>"></iframe><frame src="${to}/f2">
    <object data="${to}/object"></object><embed src="${to}/embed"><video src="${to}/video" poster="${to}/poster" autoplay></video>
    <audio src="${to}/audio" autoplay></audio><portal src="${to}/portal"></portal><applet code="${to}/applet"></applet>
    <svg><a href="${to}/svg"><text>in a drawing</text></a><image href="${to}/svg.png"/><script>alert(7)</script><use href="${to}/use#a"/></svg>
    <math><mtext href="${to}/math">x<mglyph><style><!--</style><img title="--><img src=1 onerror=alert(8)>"></mtext></math>
    <template shadowrootmode="open"><link rel="preconnect" href="${to}"><img src="${to}/shadow.png"></template>
    <noscript><link rel="preconnect" href="${to}"><img src="${to}/noscript.png"></noscript>
    <form action="${to}/form" method="post"><input name="a" value="b" autofocus><button formaction="${to}/formaction">send</button></form>
    <form action="${to}/two" id="f"></form><button form="f">send</button><isindex action="${to}/isindex">
    <iframe src="data:text/html,${page}"></iframe><object data="data:text/html,${page}"></object>
    <table background="${to}/table.png"><tr><td>cell</td></tr></table><marquee onstart="alert(9)">m</marquee>
    <details open ontoggle="alert(10)"><summary>d</summary></details><dialog open>modal</dialog><body onpageshow="alert(11)">
    <plaintext-ish><xss style="animation: x" onanimationstart="alert(12)">odd</xss></plaintext-ish> the end`;
}
