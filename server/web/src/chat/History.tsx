// This person's chats, newest first, with a search in what was said.
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { Link, NavLink } from "react-router";
import { ChatService } from "../gen/orion/v1/chat_pb";
import { oneLine } from "../lib/text";
import { Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

export function History({ isOpen, onChoose }: { isOpen: boolean; onChoose: () => void }) {
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text);
  const { data, error } = useQuery(ChatService.method.listChats, { text: wanted, limit: 100 }, { placeholderData: keepPreviousData });
  return (
    <aside className={isOpen ? "chat-history open" : "chat-history"} aria-label="Earlier chats">
      <Link className="button" to="/chat" onClick={onChoose}>New chat</Link>
      <input type="search" aria-label="Search chats" placeholder="Search chats" value={text} onChange={(event) => setText(event.target.value)} />
      <ErrorNote error={error} />
      <nav aria-label="Chats">
        {data?.chats.map((chat) => (
          <NavLink key={chat.conversationId} to={`/chat/${chat.conversationId}`} onClick={onChoose}>
            <div className="clip"><bdi>{oneLine(chat.firstMessage, 80) || "No message"}</bdi></div>
            {chat.found !== "" && <div className="small muted clip"><bdi>{oneLine(chat.found, 80)}</bdi></div>}
            <div className="small muted"><Time at={chat.lastAt} /></div>
          </NavLink>
        ))}
      </nav>
      {data?.chats.length === 0 && <p className="small muted">{wanted === "" ? "Your chats are listed here." : "No chat contains this."}</p>}
    </aside>
  );
}
