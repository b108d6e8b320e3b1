/** Draws what was recorded: a terminal, the window in front of it, and a line of text below. */
import { type Colour, Film } from './film.ts';

/** What a terminal showed. */
export interface TerminalFrame {
  /** s after the start */
  readonly at: number;
  /** lines, with the sequences that set colours */
  readonly text: string;
  readonly hasCursor: boolean;
}

/** What the window showed: the result of page-shapes.js in both themes. */
export interface PageFrame {
  readonly at: number;
  readonly light: readonly string[];
  readonly dark: readonly string[];
}

/** A sentence below the picture. */
export interface Caption {
  readonly at: number;
  readonly text: string;
}

export interface Recording {
  readonly terminal: readonly TerminalFrame[];
  readonly page: readonly PageFrame[];
  readonly captions: readonly Caption[];
  /** s until it starts again */
  readonly seconds: number;
  /** for those who do not see it */
  readonly label: string;
}

/** Columns of the terminal. */
export const COLUMNS = 98;
/** Size of the window's page. */
export const PAGE_SIZE = { width: 800, height: 330 };
/** Where it is. Requests of the terminal are shown above it. */
const PAGE = { x: 60, y: 330, ...PAGE_SIZE };
const WIDTH = 920;
const HEIGHT = 700;
const BAR_HEIGHT = 32;
const CAPTION_HEIGHT = 34;
const LINE_HEIGHT = 21;
const COLUMN_WIDTH = 9;

/** Cells of a terminal in one style. */
interface Run {
  readonly text: string;
  readonly column: number;
  readonly codes: string;
}

/** Lines of a terminal, with the sequences that set colours. */
function runsOf(line: string): Run[] {
  let codes = '';
  let column = 0;
  // eslint-disable-next-line no-control-regex
  return line.split(/\u{1B}\[([\d;]*)m/u).flatMap((text, index) => {
    if (index % 2 === 1) codes = text === '' || text === '0' ? '' : `${codes};${text}`;
    if (index % 2 === 1 || text === '') return [];
    const run = { text, column, codes };
    column += text.length;
    return [run];
  });
}

const COLOURS = {
  ground: { light: '#fbfbf9', dark: '#171a19' },
  text: { light: '#1c1c1a', dark: '#e8e8e4' },
  dim: { light: '#66665f', dark: '#9d9d96' },
  good: { light: '#00703c', dark: '#62d196' },
  warning: { light: '#8a5a00', dark: '#e5b567' },
  bad: { light: '#b3261e', dark: '#ff8a80' },
  bar: { light: '#ebebe7', dark: '#262a29' },
  edge: { light: '#c9c9c2', dark: '#3d4341' },
  caption: { light: '#57606a', dark: '#8b949e' },
} as const;

function drawTerminal(film: Film, recorded: readonly TerminalFrame[]): string {
  const colours: Readonly<Record<string, Colour>> = {
    2: COLOURS.dim,
    31: COLOURS.bad,
    32: COLOURS.good,
    33: COLOURS.warning,
  };
  const frames = recorded.map(({ at, text, hasCursor }) => {
    const lines = text
      .split('\n')
      .slice(0, Math.floor((HEIGHT - BAR_HEIGHT) / LINE_HEIGHT))
      .map(runsOf);
    const parts = lines.flatMap((runs, row) =>
      runs.flatMap(({ text: words, column, codes }) => {
        const shown = words.trimEnd();
        if (shown === '') return [];
        const lead = shown.length - shown.trimStart().length;
        const set = codes.split(';');
        const colour = set.map((code) => colours[code]).find((found) => found !== undefined) ?? COLOURS.text;
        return [
          drawText(shown.trimStart(), {
            x: 18 + (column + lead) * COLUMN_WIDTH,
            y: BAR_HEIGHT + 24 + row * LINE_HEIGHT,
            length: (shown.length - lead) * COLUMN_WIDTH,
            fill: film.colour(colour),
            isStrong: set.includes('1'),
          }),
        ];
      }),
    );
    const end = lines.at(-1)?.reduce((sum, { text: words }) => sum + words.length, 0) ?? 0;
    if (hasCursor)
      parts.push(
        `<rect fill="${film.colour(COLOURS.dim)}" x="${18 + end * COLUMN_WIDTH}" y="${BAR_HEIGHT + 24 + (lines.length - 1) * LINE_HEIGHT - 13}" width="8" height="17"/>`,
      );
    return { at, parts };
  });
  return film.draw(frames);
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface TextPlace {
  readonly x: number;
  readonly y: number;
  readonly length: number;
  readonly fill: string;
  readonly isStrong: boolean;
}

function drawText(text: string, { x, y, length, fill, isStrong }: TextPlace): string {
  const escaped = text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<text class="code" fill="${fill}" x="${x}" y="${y}" textLength="${length}" font-size="15"${isStrong ? ' font-weight="700"' : ''}>${escaped}</text>`;
}

/** The window's shapes, with the colours of both themes. */
function drawPage(film: Film, recorded: readonly PageFrame[]): string {
  const frames = recorded.map(({ at, light, dark }) => ({
    at,
    parts: light.map((part, index) => {
      const others = [...(dark[index] ?? '').matchAll(PAINT)];
      return part.replaceAll(PAINT, (_, name: string, colour: string) => {
        const other = others.shift()?.[2] ?? colour;
        return ` ${name}="${film.colour({ light: colour, dark: other })}"`;
      });
    }),
  }));
  return film.draw(frames);
}

const PAINT = / (fill|stroke)="(rgba?\([^"]+\))"/g;

function drawCaptions(film: Film, captions: readonly Caption[]): string {
  return film.draw(
    captions.map(({ at, text }) => ({
      at,
      parts: [
        `<text class="words" x="${WIDTH / 2}" y="${HEIGHT - 10}" font-size="17" text-anchor="middle" fill="${film.colour(COLOURS.caption)}">${text}</text>`,
      ],
    })),
  );
}

/** A window without its content. */
function drawFrame(film: Film, title: string, { x, y, width, height }: Area): string {
  const [edge, fill, text] = [COLOURS.edge, COLOURS.bar, COLOURS.dim].map((colour) => film.colour(colour));
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="9" fill="${film.colour(COLOURS.ground)}"/>`,
    `<path d="M${x} ${y + BAR_HEIGHT}V${y + 9}a9 9 0 0 1 9-9H${x + width - 9}a9 9 0 0 1 9 9V${y + BAR_HEIGHT}Z" fill="${fill}"/>`,
    `<rect x="${x + 0.5}" y="${y + 0.5}" width="${width - 1}" height="${height - 1}" rx="9" fill="none" stroke="${edge}"/>`,
    ...[0, 1, 2].map(
      (index) => `<circle cx="${x + 18 + index * 17}" cy="${y + BAR_HEIGHT / 2}" r="5" fill="${edge}"/>`,
    ),
    `<text class="words" x="${x + width / 2}" y="${y + 21}" font-size="14" text-anchor="middle" fill="${text}">${title}</text>`,
  ].join('\n');
}

/** @returns an SVG that plays without scripts, fonts or pictures from elsewhere */
export function drawRecording({ terminal, page, captions, seconds, label }: Recording): string {
  const film = new Film(seconds);
  const frame = {
    x: PAGE.x - 1,
    y: PAGE.y - BAR_HEIGHT,
    width: PAGE.width + 2,
    height: PAGE.height + BAR_HEIGHT + 1,
  };
  const { x, y, width, height } = PAGE;
  const window = `${drawFrame(film, 'Culvert', frame)}
<svg x="${x}" y="${y}" width="${width}" height="${height}">
${drawPage(film, page)}
</svg>`;
  const drawn = [
    drawFrame(film, 'Terminal', { x: 0, y: 0, width: WIDTH, height: HEIGHT - CAPTION_HEIGHT }),
    drawTerminal(film, terminal),
    film.draw([{ at: page[0]?.at ?? 0, parts: [window] }]),
    drawCaptions(film, captions),
  ].join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
<style>
.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}
.words{font-family:Inter,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
${film.rules}
</style>
${drawn}
</svg>
`;
}
