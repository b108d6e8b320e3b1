/** The project's repository and its author. `repository` and `author` of package.json are the one place that says it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the project. */
export const ROOT = join(import.meta.dirname, '..');

export interface Repository {
  /** address of the repository as a browser opens it, without a slash at the end */
  readonly address: string;
  /** the name in packages, and the address for reports of security issues by mail */
  readonly author: { readonly name: string; readonly email: string };
}

/** What is read of package.json. */
interface Manifest {
  readonly repository: { readonly url: string };
  readonly author: string;
}

/** Domains that belong to nobody (RFC 2606, section 2). */
const RESERVED = /\.(example|invalid|test)$/;

export function readRepository(): Repository {
  return repositoryOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest);
}

/** @throws Error if one of the two fields does not have the form that npm documents */
export function repositoryOf({ repository, author }: Manifest): Repository {
  const [, address] = /^git\+(https:\/\/.+)\.git$/.exec(repository.url) ?? [];
  if (address === undefined) {
    throw new Error(`package.json: repository.url must be git+https://….git, and is ${repository.url}`);
  }
  const [, name, email] = /^(.+) <(.+@.+)>$/.exec(author) ?? [];
  if (name === undefined || email === undefined) {
    throw new Error(`package.json: author must be NAME <MAIL>, and is ${author}`);
  }
  return { address, author: { name, email } };
}

/** Where the app looks for new versions: the files of the newest release. */
export function updatesAddress({ address }: Repository): string {
  return `${address}/releases/latest/download`;
}

/** @returns a sentence for each field of package.json that still has a placeholder; with any, nothing can be released */
export function placeholders({ address, author }: Repository): string[] {
  const host = new URL(address).hostname;
  const [, mailHost = ''] = author.email.split('@');
  return [
    ...(RESERVED.test(host)
      ? [`package.json: repository.url is a placeholder (${host}): write where the project is at home`]
      : []),
    ...(RESERVED.test(mailHost)
      ? [`package.json: author is a placeholder (${mailHost}): write an address that somebody reads`]
      : []),
  ];
}
