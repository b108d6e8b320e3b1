/** `import { expose } from '@culvert/culvert'`: types/index.d.ts is what users see of it. */
export { expose } from './expose.ts';
