import { start } from './app.tsx';

start(() => window.culvert);
