/** Questions to a DNS server: `dig`, of Debian's package `bind9-dnsutils`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface Dug {
  /** `NOERROR`, `NXDOMAIN`, … */
  readonly status: string;
  /** `qr`, `aa`, `tc`, `rd`, `ra` */
  readonly flags: readonly string[];
  /** lines of each section, blanks as one space each */
  readonly answer: readonly string[];
  readonly authority: readonly string[];
  /** bytes of the response */
  readonly size: number;
  /** everything */
  readonly text: string;
}

/**
 * @param question as `dig` takes it: a name, a type, options
 * @throws Error when there is no response, or dig finds fault with it
 */
export async function dig(port: number, server: string, question: readonly string[]): Promise<Dug> {
  const args = ['-p', String(port), `@${server}`, '+tries=1', '+time=5', '+nocmd', ...question];
  const { stdout } = await promisify(execFile)('dig', args, { timeout: 30_000 });
  const status = /status: (\w+)/.exec(stdout)?.[1];
  if (status === undefined || stdout.includes(';; Warning') || stdout.includes('malformed'))
    throw new Error(stdout);
  return {
    status,
    flags: (/flags: ([\w ]*);/.exec(stdout)?.[1] ?? '').split(' '),
    answer: section(stdout, 'ANSWER'),
    authority: section(stdout, 'AUTHORITY'),
    size: Number(/MSG SIZE +rcvd: (\d+)/.exec(stdout)?.[1]),
    text: stdout,
  };
}

function section(text: string, name: string): string[] {
  const [, lines = ''] = new RegExp(`;; ${name} SECTION:\\n((?:[^;\\n].*\\n)*)`).exec(text) ?? [];
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll(/\s+/g, ' '));
}
