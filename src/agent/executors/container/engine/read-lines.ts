import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

const LINE_LENGTH_MAX = 1024 * 1024

/** Lines that are not empty. @throws if one is longer than any that the engine has reason to send */
export async function* readLines(body: Readable): AsyncIterable<string> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.write(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_LENGTH_MAX) throw new Error('the engine sent a line without an end')
    for (const line of lines) if (line.trim() !== '') yield line
  }
  if (rest.trim() !== '') yield rest
}
