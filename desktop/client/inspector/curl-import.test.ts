import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { importCurl, shellWords } from './curl-import.ts';
import { curlCommand } from './curl.ts';
import { checkEdit, composeRequest, ImportRefused } from './edit.ts';
import { type RequestDetail, trimBlanks } from './records.ts';
import { RequestLog } from './request-log.ts';

/** An imported request in lines: method and target, fields, and the body after an empty one. */
function imported(text: string): string {
  const { method, target, fields, body, isCut } = importCurl(text);
  const lines = [`${method} ${target}`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  if (body.length > 0) lines.push('', Buffer.from(body).toString('latin1'));
  assert.equal(isCut, false);
  return lines.join('\n');
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
    const texts = 'a $(id)|a `id`|a $HOME|a "$(id)"|a "`id`"|a; b|a & b|a > f|a < f|(a)'.split('|');
    for (const text of [...texts, 'a | b'])
      assert.throws(() => shellWords(text), /Culvert does not run a shell/, text);
    for (const text of ["a 'b", 'a "b', "a $'b"])
      assert.throws(() => shellWords(text), /is not closed/, text);
  });
});

describe('an imported curl command', () => {
  it('is the request that curl sends', () => {
    // What curl sends by default.
    const usual = 'User-Agent: curl\nAccept: */*';
    for (const [command, request] of [
      ['curl http://localhost:3000/a/b?x=1#part', `GET /a/b?x=1\n${usual}`],
      ['curl localhost:3000', `GET /\n${usual}`],
      ['curl https://example.com?x', `GET /?x\n${usual}`],
      ["curl 'http://x/ä b'", `GET /%C3%A4%20b\n${usual}`],
      [String.raw`curl 'http://x/?a\[0\]=1'`, `GET /?a[0]=1\n${usual}`],
      ['curl -X DELETE http://x/1', `DELETE /1\n${usual}`],
      ['curl -I http://x', `HEAD /\n${usual}`],
      [
        'curl -H "X-A: 1" -HX-B:2 -H X-C\\; -H Accept: http://x',
        'GET /\nX-A: 1\nX-B: 2\nX-C: \nUser-Agent: curl',
      ],
      ['curl -sSL --compressed http://x', `GET /\n${usual}\nAccept-Encoding: gzip, deflate, br`],
      [
        'curl -A me -e http://from -b a=1 -u ann:pw http://x',
        'GET /\nUser-Agent: me\nReferer: http://from\nCookie: a=1\nAuthorization: Basic YW5uOnB3\nAccept: */*',
      ],
      [
        'curl -d a=1 --data-raw @b --data-urlencode "c=d e/ä" --data-urlencode =f+ http://x',
        `POST /\nContent-Type: application/x-www-form-urlencoded\n${usual}\n\na=1&@b&c=d%20e%2F%C3%A4&f%2B`,
      ],
      ['curl -G -d a=1 --data-urlencode b=ä http://x/?c', `GET /?c&a=1&b=%C3%A4\n${usual}`],
      [
        `curl --json '{"a":1}' http://x`,
        'POST /\nContent-Type: application/json\nAccept: application/json\nUser-Agent: curl\n\n{"a":1}',
      ],
      ['curl -X OPTIONS --request-target "*" http://x', `OPTIONS *\n${usual}`],
      [
        'curl -H "Host: evil" -H "Content-Length: 3" -H "Connection: x" -H "Transfer-Encoding: chunked" http://x',
        `GET /\n${usual}`,
      ],
    ] as const)
      assert.equal(imported(command), request, command);
  });

  it('may be copied from a browser', () => {
    const chrome =
      "curl 'https://shop.example/api/orders?page=2' \\\n  -X 'PUT' \\\n  -H 'accept: application/json' \\\n" +
      "  -H 'content-type: application/json' \\\n  -b 'sid=1; theme=dark' \\\n  -H 'user-agent: Mozilla/5.0' \\\n" +
      '  --data-raw $\'{"name":"O\\\'Brien \\u0021"}\' \\\n  --compressed';
    assert.equal(
      imported(chrome),
      'PUT /api/orders?page=2\naccept: application/json\ncontent-type: application/json\nuser-agent: Mozilla/5.0\n' +
        `Cookie: sid=1; theme=dark\nAccept-Encoding: gzip, deflate, br\n\n{"name":"O'Brien !"}`,
    );
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
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`,
    );
    const { isCut, body } = importCurl(curlCommand(recorded(cut), 'http://x', 'posix'));
    assert.deepEqual([isCut, body.length], [true, 256 * 1024]);
  });
});
