import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { curlCommand, quoteBytes, quoteWord, type Shell, shellOf } from './curl.ts';
import { RequestLog } from './request-log.ts';

/** The words that a shell reads from a command, as bytes. */
function shellWords(command: string): Buffer[] {
  const script = `printf '%s\\0' ${command}`;
  const out = execFileSync('bash', ['--norc'], { env: { LC_ALL: 'C' }, input: script });
  const words: Buffer[] = [];
  for (let at = 0; at < out.length;) {
    const end = out.indexOf(0, at);
    words.push(out.subarray(at, end));
    at = end + 1;
  }
  return words;
}

function commandFor(request: string | Buffer, reveal = false, shell: Shell = 'posix'): string {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request));
  const detail = log.detail(1, { reveal });
  assert.ok(detail);
  return curlCommand(detail, 'https://demo.example.com/', shell);
}

describe('a shell word', () => {
  it('means exactly the given text, and contains nothing that a terminal obeys', () => {
    const every = Array.from({ length: 0x2ff }, (_, index) => String.fromCodePoint(index + 1));
    const special = ['\u202e', '\u2028', '\ufeff', '\u{1f600}', '\u{e0041}', '', '-'];
    const given = [...every, ...special].flatMap((character) => [character, `a${character}0'"`]);
    const quoted = given.map(quoteWord);
    // One shell for all, because starting it takes longest.
    assert.deepEqual(shellWords(quoted.join(' ')).map(String), given);
    assert.doesNotMatch(quoted.join(''), /[\p{Cc}\p{Cf}]/u);
  });

  it('carries bytes that are not text', () => {
    const bytes = Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1));
    assert.deepEqual(shellWords(quoteBytes(bytes)), [bytes]);
  });

  it('executes nothing', () => {
    const texts = ['$(id)', '`id`', "'; id; '", '"$HOME"', '!!', '*', '~', '-n', 'a\nb', "\x1b]0;x\x07'"];
    assert.deepEqual(shellWords(texts.map(quoteWord).join(' ')).map(String), texts);
  });
});

describe('a request as a curl command', () => {
  it('has method, address and fields, without those that the relay or curl adds', () => {
    const command = commandFor(
      'DELETE /a/../b?x=[1]&y HTTP/1.1\r\nHost: demo.example.com\r\nX-Forwarded-For: 1\r\n' +
        "X-Name: O'Brien\r\nX-Empty:\r\nAccept-Encoding: gzip\r\n\r\n",
    );
    assert.equal(
      command,
      [
        'curl',
        '--globoff --path-as-is',
        '--request DELETE',
        "'https://demo.example.com/a/../b?x=[1]&y'",
        '--compressed',
        "--header 'X-Name: O'\\''Brien'",
        "--header 'X-Empty;'",
        '--header User-Agent:',
        '--header Accept:',
      ].join(' \\\n  '),
    );
  });

  it('contains a text body unchanged, and pipes any other', () => {
    const head = 'POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n';
    assert.match(commandFor(`${head}{"ä":1`), /--header Content-Type: \\\n {2}--data-raw '\{"ä":1'$/);
    const binary = commandFor(Buffer.concat([Buffer.from(head), Buffer.from([0, 1, 0xff, 4, 5, 6])]));
    assert.match(binary, /^echo AAH\/BAUG \| base64 -d \| curl [^]* --data-binary @-$/);
  });

  it('requests no body with HEAD, and no path with *', () => {
    assert.match(commandFor('HEAD / HTTP/1.1\r\n\r\n'), / --head /);
    assert.match(commandFor('OPTIONS * HTTP/1.1\r\n\r\n'), /--request OPTIONS [^]*--request-target '\*' /);
  });

  it('has no secrets unless requested', () => {
    const request = 'GET /?token=abc HTTP/1.1\r\nAuthorization: Bearer abc\r\nCookie: sid=abc\r\n\r\n';
    assert.doesNotMatch(commandFor(request), /abc/);
    assert.equal(commandFor(request, true).match(/abc/g)?.length, 3);
  });

  it('notes that the recorded body is incomplete', () => {
    const request = `POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`;
    assert.match(commandFor(request), /^# The rest of the body was not recorded/);
  });
});

/** The configuration and the body that curl reads from a PowerShell command. */
function powershellParts(command: string): {
  options: [string, string | undefined][];
  body: Buffer | undefined;
} {
  const files = new Map(
    [...command.matchAll(/^(\$\w+) = \[IO\.Path\][^\n]*FromBase64String\('([^']*)'\)\)$/gm)].map(
      ([, name = '', base64 = '']) => [name, Buffer.from(base64, 'base64')] as const,
    ),
  );
  // A text in single quotes ends at the first line that begins with the mark.
  const [, text = ''] = /\n@'\n([^]*?\n)'@ \| curl\.exe --config -/.exec(command) ?? [];
  const configuration = files.get('$config') ?? Buffer.from(text);
  const options = configuration
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): [string, string | undefined] => {
      const [, name = '', value] = /^([\w-]+)(?: = "((?:[^"\\]|\\.)*)")?$/.exec(line) ?? assert.fail(line);
      const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', v: '\v' };
      return [name, value?.replaceAll(/\\(.)/g, (_, one: string) => escapes[one] ?? one)];
    });
  return { options, body: files.get('$body') };
}

describe('a request as a curl command for PowerShell', () => {
  const HEAD = 'POST /a?b=%20c&d HTTP/1.1\r\nContent-Length: 5\r\n';

  it('is used on Windows', () => {
    assert.equal(shellOf('win32'), 'powershell');
    assert.equal(shellOf('linux'), 'posix');
    assert.equal(shellOf('darwin'), 'posix');
  });

  it('puts everything into a configuration of curl, without special characters of PowerShell or cmd', () => {
    const values = [
      '%PATH%',
      '$env:PATH $(id) `id`',
      'a"b\\',
      "O'Brien '@ | calc",
      '^&|<>!;@{}#',
      '\u201csmart\u201d \u2019',
    ];
    const fields = values.map((value) => `X-Odd: ${Buffer.from(value).toString('latin1')}\r\n`).join('');
    const command = commandFor(Buffer.from(`${HEAD}${fields}\r\n{"a":`, 'latin1'), false, 'powershell');
    assert.match(command, /^& \{\n\$OutputEncoding = \[Text\.UTF8Encoding\]::new\(\$false\)\n@'\n/);
    const { options, body } = powershellParts(command);
    assert.equal(body, undefined);
    assert.deepEqual(options, [
      ['globoff', undefined],
      ['path-as-is', undefined],
      ['url', 'https://demo.example.com/a?b=%20c&d'],
      ...values.map((value) => ['header', `X-Odd: ${Buffer.from(value).toString('latin1')}`]),
      ['header', 'User-Agent:'],
      ['header', 'Accept:'],
      ['header', 'Content-Type:'],
      ['data-raw', '{"a":'],
    ]);
  });

  it('keeps lines and tabs of a body, and begins no line with them', () => {
    const text = 'a\r\n\'@\n\t"@\n; calc\\n';
    const head = `POST / HTTP/1.1\r\nContent-Length: ${text.length}\r\n\r\n`;
    const command = commandFor(head + text, false, 'powershell');
    assert.equal(command.match(/^'@/gm)?.length, 1);
    assert.deepEqual(powershellParts(command).options.at(-1), ['data-raw', text]);
  });

  it('reads a binary body from a file, and removes the file', () => {
    const bytes = Buffer.from([0, 1, 0xff, 4, 0x1b]);
    const command = commandFor(Buffer.concat([Buffer.from(`${HEAD}\r\n`), bytes]), false, 'powershell');
    assert.deepEqual(powershellParts(command).body, bytes);
    assert.match(command, /curl\.exe --config - --data-binary "@\$body"\nRemove-Item \$body\n\}$/);
    const odd = commandFor(
      Buffer.from(`GET / HTTP/1.1\r\nX: \xff\x1b\r\n\r\n`, 'latin1'),
      false,
      'powershell',
    );
    assert.deepEqual(powershellParts(odd).options[3], ['header', 'X: \xff\x1b']);
    assert.match(odd, /curl\.exe --config \$config\nRemove-Item \$config\n\}$/);
    assert.doesNotMatch(odd, /[^\n\x20-\x7e]/);
  });

  it('has no secrets unless requested, and notes that the recorded body is incomplete', () => {
    const request = `POST /?token=abc HTTP/1.1\r\nAuthorization: Bearer abc\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`;
    const command = commandFor(request, false, 'powershell');
    assert.doesNotMatch(command, /abc/);
    assert.match(command, /^# The rest of the body was not recorded/);
    assert.equal(commandFor(request, true, 'powershell').match(/abc/g)?.length, 2);
  });
});
