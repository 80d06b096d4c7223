import { WebSocket } from 'ws'

/** Sends operations one after the other over one WebSocket: many more a second than over HTTP. */
export interface OperationSocket {
  /** The first message that answers it, as it came. A subscription is ended by its first event, or by the next message. */
  ask(payload: string): Promise<string>
  close(): void
}

export async function openSocket(url: string, token: string): Promise<OperationSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const waiting = new Map<string, (text: string) => void>()
  let last = 0
  const opened = Promise.withResolvers<void>()
  socket.on('open', () =>
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })),
  )
  socket.on('message', (data: Buffer) => {
    const text = String(data)
    const { type, id } = JSON.parse(text) as { type: string; id?: string }
    if (type === 'connection_ack') return opened.resolve()
    if (type === 'pong') return answerAll(text)
    if (id !== undefined && waiting.has(id)) {
      waiting.get(id)!(text)
      waiting.delete(id)
      if (type === 'next') socket.send(JSON.stringify({ type: 'complete', id }))
    }
  })
  socket.on('close', (code, reason) => {
    opened.reject(new Error(`closed ${code}`))
    answerAll(`closed ${code} ${String(reason)}`)
  })
  socket.on('error', () => {})
  function answerAll(text: string): void {
    for (const [id, answer] of waiting) {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'complete', id }))
      answer(text)
    }
    waiting.clear()
  }
  await opened.promise
  return {
    ask(payload) {
      const id = String(++last)
      const { promise, resolve } = Promise.withResolvers<string>()
      waiting.set(id, resolve)
      if (socket.readyState !== WebSocket.OPEN) {
        answerAll('closed')
        return promise
      }
      socket.send(`{"id":"${id}","type":"subscribe","payload":${payload}}`)
      return promise
    },
    close: () => socket.terminate(),
  }
}
