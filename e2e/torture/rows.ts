/** The rows of docs/reliability.md, in its order. */
import type { Row } from './row.ts';
import { spellings } from './rows/spellings.ts';

export const ROWS: readonly Row[] = [spellings];
