/** The project's repository and its author, which are defined only in `repository` and `author` of package.json. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the project. */
export const ROOT = join(import.meta.dirname, '..');

export interface Repository {
  /** address of the repository in a browser, without a trailing slash */
  readonly address: string;
  /** the author's name in packages, and the email address for security reports */
  readonly author: { readonly name: string; readonly email: string };
}

/** The used part of package.json. */
interface Manifest {
  readonly repository: { readonly url: string };
  readonly author: string;
}

/** Reserved domains (RFC 2606, section 2). */
const RESERVED = /\.(example|invalid|test)$/;

export function readRepository(): Repository {
  return repositoryOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest);
}

/** @throws Error if one of the two fields does not have the form documented by npm */
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

/** @returns a sentence for each placeholder left in package.json; with any, nothing can be released */
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
