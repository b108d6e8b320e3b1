import { isUtf8 } from 'node:buffer';
import { hasUnprintable } from '../../../shared/unprintable.ts';
import type { RequestDetail } from './records.ts';

/** Fields that curl generates, or that a relay or a proxy adds. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'expect',
  'accept-encoding',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]);

/** Fields that curl sends by default. */
const USUAL_FIELDS = ['User-Agent', 'Accept'];
/** Precedes a command with an incomplete body. */
export const CUT_NOTICE = '# The rest of the body was not recorded.\n';

/** The target of a command: any POSIX shell, or PowerShell, which every Windows has. */
export type Shell = 'posix' | 'powershell';

/** @returns the usual shell of a system */
export function shellOf(platform: NodeJS.Platform): Shell {
  return platform === 'win32' ? 'powershell' : 'posix';
}

/**
 * A `curl` command that sends a recorded request again. Values redacted in `detail` stay redacted.
 *
 * @param origin scheme and authority of the new request, such as the tunnel's `public_url`
 */
export function curlCommand(detail: RequestDetail, origin: string, shell: Shell): string {
  const options = curlOptions(detail, origin);
  const body = Buffer.from(detail.request.body);
  const notice = detail.request.isTruncated ? CUT_NOTICE : '';
  return notice + (shell === 'posix' ? posixCommand(options, body) : powershellCommand(options, body));
}

/** A long option of curl without its hyphens, and its value as bytes. */
type CurlOption = readonly [name: string, value?: Buffer];

function curlOptions({ method, request }: RequestDetail, origin: string): CurlOption[] {
  const [, target = '/'] = request.startLine.split(' ');
  const isPath = target.startsWith('/');
  const hasBody = request.body.length > 0;
  const options: CurlOption[] = [
    // Brackets and dots in the address are literal.
    ['globoff'],
    ['path-as-is'],
    ...methodOptions(method, hasBody),
    ['url', latin1(origin.replace(/\/$/, '') + (isPath ? target : ''))],
    ...(isPath ? [] : [['request-target', latin1(target)] as const]),
  ];
  if (request.fields.some(([name]) => name.toLowerCase() === 'accept-encoding')) options.push(['compressed']);
  for (const [name, value] of request.fields) {
    if (OWN_FIELDS.has(name.toLowerCase())) continue;
    // curl drops a field that ends in a colon; a semicolon makes it an empty field.
    options.push(['header', latin1(value === '' ? `${name};` : `${name}: ${value}`)]);
  }
  for (const name of hasBody ? [...USUAL_FIELDS, 'Content-Type'] : USUAL_FIELDS)
    if (!request.fields.some(([given]) => given.toLowerCase() === name.toLowerCase()))
      options.push(['header', latin1(`${name}:`)]);
  return options;
}

function methodOptions(method: string, hasBody: boolean): CurlOption[] {
  if (method === 'HEAD') return [['head']];
  return method === (hasBody ? 'POST' : 'GET') ? [] : [['request', latin1(method)]];
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

function posixCommand(options: readonly CurlOption[], body: Buffer): string {
  const words = options.map(([name, value]) => {
    if (value === undefined) return `--${name}`;
    return name === 'url' ? quoteBytes(value) : `--${name} ${quoteBytes(value)}`;
  });
  const [globoff = '', pathAsIs = '', ...others] = words;
  const command = ['curl', `${globoff} ${pathAsIs}`, ...others];
  if (body.length === 0) return lines(command);
  if (isUtf8(body) && !body.includes(0))
    return lines([...command, `--data-raw ${quoteWord(body.toString())}`]);
  // A shell word cannot carry every byte.
  return `echo ${body.toString('base64')} | base64 -d | ${lines([...command, '--data-binary @-'])}`;
}

/** One command over several lines. */
function lines(words: readonly string[]): string {
  return words.join(' \\\n  ');
}

/**
 * Puts everything into a configuration of curl, because versions of PowerShell disagree on how they pass quotation
 * marks to a program. PowerShell interprets nothing in a text between `@'` and a line with `'@`. The command is
 * `curl.exe`, because `curl` may be an alias of another one. Binary data comes from a file.
 */
function powershellCommand(options: readonly CurlOption[], body: Buffer): string {
  const isTextBody = isPrintable(body.toString().replaceAll(/[\r\n\t]/g, '')) && isUtf8(body);
  const all: readonly CurlOption[] =
    body.length > 0 && isTextBody ? [...options, ['data-raw', body]] : options;
  const configuration = Buffer.concat(all.map(configurationLine));
  const isText = isUtf8(configuration) && isPrintable(configuration.toString().replaceAll('\n', ''));
  const files = [
    ...(isText ? [] : [['$config', configuration] as const]),
    ...(body.length === 0 || isTextBody ? [] : [['$body', body] as const]),
  ];
  const data = files.some(([name]) => name === '$body') ? ' --data-binary "@$body"' : '';
  const steps = [
    ...files.map(
      ([name, bytes]) =>
        `${name} = [IO.Path]::GetTempFileName(); ` +
        `[IO.File]::WriteAllBytes(${name}, [Convert]::FromBase64String('${bytes.toString('base64')}'))`,
    ),
    isText
      ? `$OutputEncoding = [Text.UTF8Encoding]::new($false)\n@'\n${configuration.toString()}'@ | curl.exe --config -${data}`
      : `curl.exe --config $config${data}`,
    ...(files.length === 0 ? [] : [`Remove-Item ${files.map(([name]) => name).join(', ')}`]),
  ];
  // Runs in a block, so that its variables are not set afterwards.
  return `& {\n${steps.join('\n')}\n}`;
}

/**
 * In the syntax of `curl --config`: after a backslash `n`, `r` and `t` have their usual meaning, and any other
 * character stands for itself.
 */
function configurationLine([name, value]: CurlOption): Buffer {
  if (value === undefined) return Buffer.from(`${name}\n`);
  const escaped = value
    .toString('latin1')
    .replaceAll(/[\\"]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll('\t', String.raw`\t`);
  return latin1(`${name} = "${escaped}"\n`);
}

function isPrintable(text: string): boolean {
  return !hasUnprintable(text);
}

/* Quotes any text as words of a POSIX shell command. */

/** Characters that have no special meaning in any shell. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * Quotes a text as one word. Control characters are written as escapes (`$'…'`, POSIX.1-2024), so that the word is safe
 * to show on a terminal.
 */
export function quoteWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!hasUnprintable(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return escapedWord(Buffer.from(text));
}

/** Quotes bytes that may not be text. NUL, which no word can contain, is left out. */
export function quoteBytes(bytes: Buffer): string {
  return bytes.every((byte) => byte >= 0x20 && byte < 0x7f)
    ? quoteWord(bytes.toString())
    : escapedWord(bytes);
}

function escapedWord(bytes: Buffer): string {
  let word = '';
  for (const byte of bytes) {
    if (byte === 0x0a) word += '\\n';
    else if (byte === 0x27 || byte === 0x5c) word += `\\${String.fromCodePoint(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) word += String.fromCodePoint(byte);
    else if (byte !== 0) word += `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `$'${word}'`;
}
