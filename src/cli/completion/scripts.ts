import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'

export const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }
