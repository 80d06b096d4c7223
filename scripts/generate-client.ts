import { writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { CLIENT_OPERATIONS, generateClientOperations } from './client-operations.ts'

await writeFile(CLIENT_OPERATIONS, await generateClientOperations())
console.log(`wrote ${relative(process.cwd(), CLIENT_OPERATIONS)}`)
