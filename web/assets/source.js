// Where recordings come from: the program that serves this page.
export * from './api.js';
