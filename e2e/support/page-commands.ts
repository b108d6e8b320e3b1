import { readFileSync } from 'node:fs';

/**
 * @param page its path in docs
 * @returns the shell commands of a section of a page, by block
 */
export function commandsOf(page: string, heading: string): string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  const [, section = ''] = text.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [own = ''] = section.split(/^#/m);
  // Comments in commands begin lines of their own, so they would end the section.
  return [...own.matchAll(/^```(?:sh|console)\n([^]*?)^```$/gm)].map(([, code = '']) => code);
}
