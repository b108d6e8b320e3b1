import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { importCurl, shellWords } from './curl-import.ts';
import { curlCommand } from './curl.ts';
import { checkEdit, composeRequest, ImportRefused } from './edit.ts';
import { type RequestDetail, trimBlanks } from './records.ts';
import { RequestLog } from './request-log.ts';

/** What curl sends by default. */
const USUAL = [
  ['User-Agent', 'curl'],
  ['Accept', '*/*'],
];

function imported(text: string) {
  const { method, target, fields, body, isCut } = importCurl(text);
  return { method, target, fields, body: Buffer.from(body).toString('latin1'), isCut };
}

function plain(change: object) {
  return { method: 'GET', target: '/', fields: USUAL, body: '', isCut: false, ...change };
}

function recorded(request: Buffer): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(request);
  return log.detail(1, { reveal: true }) ?? assert.fail('the request was not recorded');
}

describe('the words of a command', () => {
  it('are split as in bash', () => {
    const texts = [
      String.raw`a 'b c' "d \"e\" \\ \x f" $'g\n\t\'\\\101\x41\u00e4\U0001f600\q' h\ i ""`,
      'j\\\nk "l\\\nm"',
      String.raw`'it'\''s' x=[1]{2}* ~ a#b !`,
      String.raw`$'\e\a\b\f\v\r\?\"\0101' "a'b" 'a"b'`,
      'ä \'ö\' "ü" \\ß # a comment',
    ];
    for (const text of texts) {
      const out = execFileSync('bash', ['--norc', '-f'], {
        env: { LC_ALL: 'C.UTF-8', HOME: '~' },
        input: `printf '%s\\0' ${text}\n`,
      });
      const words = out.toString('latin1').split('\0').slice(0, -1);
      assert.deepEqual(shellWords(text), words, text);
    }
  });

  it('may follow comments and empty lines, and end with their line', () => {
    assert.deepEqual(shellWords('\n# what it does\n\n  a b\r\n\n# more\n'), ['a', 'b']);
    assert.throws(() => shellWords('a\nb'), /more than one command/);
  });

  it('are rejected if a shell would execute something', () => {
    for (const text of [
      'a $(id)',
      'a `id`',
      'a $HOME',
      'a "$(id)"',
      'a "`id`"',
      'a | b',
      'a; b',
      'a & b',
      'a > f',
      'a < f',
      '(a)',
    ])
      assert.throws(() => shellWords(text), /Culvert does not run a shell/, text);
    for (const text of ["a 'b", 'a "b', "a $'b"])
      assert.throws(() => shellWords(text), /is not closed/, text);
  });
});

describe('an imported curl command', () => {
  it('is the request that curl sends', () => {
    const commands: [command: string, request: object][] = [
      ['curl http://localhost:3000/a/b?x=1#part', plain({ target: '/a/b?x=1' })],
      ['curl localhost:3000', plain({})],
      ['curl https://example.com?x', plain({ target: '/?x' })],
      ["curl 'http://x/ä b'", plain({ target: '/%C3%A4%20b' })],
      [String.raw`curl 'http://x/?a\[0\]=1'`, plain({ target: '/?a[0]=1' })],
      ['curl -X DELETE http://x/1', plain({ method: 'DELETE', target: '/1' })],
      ['curl -I http://x', plain({ method: 'HEAD' })],
      [
        'curl -H "X-A: 1" -HX-B:2 -H X-C\\; -H Accept: http://x',
        plain({
          fields: [
            ['X-A', '1'],
            ['X-B', '2'],
            ['X-C', ''],
            ['User-Agent', 'curl'],
          ],
        }),
      ],
      [
        'curl -sSL --compressed http://x',
        plain({ fields: [...USUAL, ['Accept-Encoding', 'gzip, deflate, br']] }),
      ],
      [
        'curl -A me -e http://from -b a=1 -u ann:pw http://x',
        plain({
          fields: [
            ['User-Agent', 'me'],
            ['Referer', 'http://from'],
            ['Cookie', 'a=1'],
            ['Authorization', 'Basic YW5uOnB3'],
            ['Accept', '*/*'],
          ],
        }),
      ],
      [
        'curl -d a=1 --data-raw @b --data-urlencode "c=d e/ä" --data-urlencode =f+ http://x',
        plain({
          method: 'POST',
          fields: [['Content-Type', 'application/x-www-form-urlencoded'], ...USUAL],
          body: 'a=1&@b&c=d%20e%2F%C3%A4&f%2B',
        }),
      ],
      ['curl -G -d a=1 --data-urlencode b=ä http://x/?c', plain({ target: '/?c&a=1&b=%C3%A4' })],
      [
        `curl --json '{"a":1}' http://x`,
        plain({
          method: 'POST',
          fields: [
            ['Content-Type', 'application/json'],
            ['Accept', 'application/json'],
            ['User-Agent', 'curl'],
          ],
          body: '{"a":1}',
        }),
      ],
      ['curl -X OPTIONS --request-target "*" http://x', plain({ method: 'OPTIONS', target: '*' })],
      [
        'curl -H "Host: evil" -H "Content-Length: 3" -H "Connection: x" -H "Transfer-Encoding: chunked" http://x',
        plain({}),
      ],
    ];
    for (const [command, request] of commands) assert.deepEqual(imported(command), request, command);
  });

  it('may be copied from a browser', () => {
    const chrome =
      "curl 'https://shop.example/api/orders?page=2' \\\n  -X 'PUT' \\\n  -H 'accept: application/json' \\\n" +
      "  -H 'content-type: application/json' \\\n  -b 'sid=1; theme=dark' \\\n  -H 'user-agent: Mozilla/5.0' \\\n" +
      '  --data-raw $\'{"name":"O\\\'Brien \\u0021"}\' \\\n  --compressed';
    assert.deepEqual(imported(chrome), {
      method: 'PUT',
      target: '/api/orders?page=2',
      fields: [
        ['accept', 'application/json'],
        ['content-type', 'application/json'],
        ['user-agent', 'Mozilla/5.0'],
        ['Cookie', 'sid=1; theme=dark'],
        ['Accept-Encoding', 'gzip, deflate, br'],
      ],
      body: `{"name":"O'Brien !"}`,
      isCut: false,
    });
  });

  it('reads no files and executes nothing, with an error', () => {
    for (const command of [
      'curl -d @/etc/passwd http://x',
      'curl --data-binary @- http://x',
      'curl --data-urlencode @f http://x',
      'curl --data-urlencode a@f http://x',
      'curl --json @f http://x',
      'curl -H @f http://x',
      'curl -b jar http://x',
      'curl -T f http://x',
      'curl -K f http://x',
    ])
      assert.throws(() => importCurl(command), /does not read files/, command);
    assert.throws(() => importCurl('curl "$(cat key)" http://x'), /Culvert does not run a shell/);
    assert.throws(() => importCurl('curl -F a=@f http://x'), /-F is not supported\. Use --data-raw/);
  });

  it('is rejected with a reason when it is something else', () => {
    for (const [command, reason] of [
      ['', /must begin with curl/],
      ['wget http://x', /must begin with curl/],
      ['curl', /contains no URL/],
      ['curl http://x http://y', /several URLs/],
      ['curl http://x --next http://y', /one request at a time/],
      ['curl --no-such http://x', /--no-such is not supported/],
      ['curl http://x -H', /-H has no value/],
      ['curl ^"http://x^"', /Windows command prompt \(cmd\)/],
    ] as const)
      assert.throws(
        () => importCurl(command),
        (error) => error instanceof ImportRefused && reason.test(error.message),
        command,
      );
  });

  it('equals the request that was exported, with any content', () => {
    const name = fc.stringMatching(/^X-[A-Za-z\d-]{1,6}$/);
    const value = fc.string({ unit: 'binary-ascii', maxLength: 10 }).map((text) => trimBlanks(text));
    const edits = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PURGE'),
      target: fc.stringMatching(/^\/[!-"$-~]{0,12}$/),
      fields: fc.array(fc.tuple(fc.oneof(name, fc.constantFrom('Accept', 'User-Agent', 'Cookie')), value), {
        maxLength: 4,
      }),
      body: fc.oneof(
        fc.uint8Array({ maxLength: 20 }),
        fc.string({ unit: 'grapheme' }).map((text) => new TextEncoder().encode(text)),
      ),
    });
    let count = 0;
    fc.assert(
      fc.property(edits, (edit) => {
        if (checkEdit(edit).length > 0) return;
        count += 1;
        const again = importCurl(
          curlCommand(recorded(composeRequest(edit, 'a.example')), 'https://a.example', 'posix'),
        );
        assert.deepEqual(
          { ...again, body: [...again.body] },
          { ...edit, body: [...edit.body], isCut: false, response: undefined },
        );
      }),
      { numRuns: 500 },
    );
    assert.ok(count > 50, `${count} requests`);
  });

  it('reports that its body was cut when it was exported', () => {
    const cut = Buffer.from(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`,
    );
    const { isCut, body } = importCurl(curlCommand(recorded(cut), 'http://x', 'posix'));
    assert.deepEqual([isCut, body.length], [true, 64 * 1024]);
  });
});
