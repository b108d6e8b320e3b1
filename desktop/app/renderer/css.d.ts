/** The bundler puts styles into main.css beside main.js. */
declare module '*.css';
