import { client } from './begin.ts'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Provider } from 'urql'
import { router } from './routes.tsx'
import './design/base.css'

// Once the program of the page is there: React waits 300 ms before it shows what it had to draw a stand-in for. Until
// then the frame of index.html is seen.
void router.load().finally(() =>
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <Provider value={client}>
        <RouterProvider router={router} />
      </Provider>
    </StrictMode>,
  ),
)
